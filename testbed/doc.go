// Package testbed runs real Redis servers and clusters for tests: on free ports of 127.0.0.1, in
// temporary directories, until the test ends. The tests of this library use it, and yours may too.
//
//	func TestMain(m *testing.M) {
//		testbed.RequireRedis() // fails, never skips, when there is no redis-server
//		os.Exit(m.Run())
//	}
//
//	func TestCounter(t *testing.T) {
//		server := testbed.NewServer(t)
//		conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{})
//		…
//		server.Kill()    // SIGKILL; Restart brings it back on the same port
//		server.Restart()
//		server.Pause()   // SIGSTOP: it accepts connections and answers nothing
//		server.Resume()
//	}
//
// [NewCluster] starts a cluster, by default of 3 masters and 3 replicas, and [NewGroup] a master,
// replicas and optionally sentinels. Programs that are not tests use [Start], [StartCluster] and
// [StartGroup], and must close their results. To make the network fail, put a proxy of package
// redistest/chaos in front of a server.
//
// The binary is Options.Binary, or $REDIS_SERVER, or redis-server in $PATH. This package is tested
// with Redis 6.2, 7.0, 8.2, 8.6 and 8.10 and Valkey 8.1 and 9.1. Freezing servers needs a Unix
// system. On Linux the servers end when the process that started them ends, even if it is killed.
// On other systems a killed process leaves its servers running.
//
// Every wait in this package is bounded. The error of a wait names the condition and quotes the end
// of the server's log. Methods are safe for concurrent use.
package testbed
