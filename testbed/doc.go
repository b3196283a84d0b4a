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
// NewCluster does the same with a cluster, by default of 3 masters and 3
// replicas. Start and StartCluster are for programs that are not tests: what
// they return has to be closed.
//
// The binary is Options.Binary, or $REDIS_SERVER, or redis-server in $PATH.
// Redis 7 is what this package is tested with; other versions and Valkey work
// with the same commands. Freezing servers takes a Unix system. On Linux the
// servers die with the process that started them, even if it is killed;
// elsewhere a killed process leaves them behind.
//
// Every wait in this package is bounded, and an error says what was waited for
// and quotes the end of the server's log. Methods may be called by any
// goroutine.
package testbed
