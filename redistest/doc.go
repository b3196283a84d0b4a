// Package redistest tests code that uses a redis.Sender, without a server.
//
// A [Mock] expects requests and answers them with what the test says: a value,
// an error of the server, a failure before or after the request was sent.
//
//	mock := redistest.NewMock(t)
//	mock.Expect("GET", "user:1").Reply([]byte("Ann"))
//	mock.Expect("INCR", "visits").NotSent()
//	db := redis.SyncCtx{S: mock}
//	name := db.Do(ctx, "GET", "user:1")
//	visits := db.Do(ctx, "INCR", "visits")
//
// A request that was not expected fails the test, with what differs from the
// expectations; so does, at the end of the test, an expectation that was not met.
// The messages show arguments, unlike those of the library.
//
// A [Recorder] passes requests on to another Sender and keeps copies of them.
// Package memserver has a server in memory, for tests through a real connection.
//
// Mocks and recorders keep to the contract of redis.Sender: Send does not block
// and keeps no argument, malformed and forbidden requests are refused as a
// connection refuses them, a future is resolved once, in the order of the
// requests and in another goroutine, and not if it is nil.
package redistest

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}
