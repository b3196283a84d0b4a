// Package testbed runs real Redis servers and clusters for tests: on free ports
// of 127.0.0.1, in temporary directories, gone when the test is over. The tests
// of this library use it, and so may yours.
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
// [NewCluster] does the same with a cluster, by default of 3 masters and 3
// replicas, and [NewGroup] with a master, replicas and, if asked for, sentinels. [Start],
// [StartCluster] and [StartGroup] are for programs that are not tests: close what
// they return.
//
// The binary is Options.Binary, or $REDIS_SERVER, or redis-server in $PATH.
// This package is tested with Redis 6.2, 7.0 and 8.2 and Valkey 8.1 and 9.1. Freezing servers
// takes a Unix system. On Linux the servers die with the process that started
// them, even if it is killed; elsewhere a killed process leaves them behind.
//
// Every wait in this package is bounded. The error of a wait says what it waited
// for, and quotes the end of the server's log. Methods are safe for use by many
// goroutines.
package testbed
