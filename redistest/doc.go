// Package redistest tests code that uses a redis.Sender, without a server.
//
// A [Mock] expects requests, and answers them as the test says: with a value, an
// error of the server, or a failure before or after the request was sent.
//
//	mock := redistest.NewMock(t)
//	mock.Expect("GET", "user:1").Reply([]byte("Ann"))
//	mock.Expect("INCR", "visits").NotSent()
//	db := redis.SyncCtx{S: mock}
//	name := db.Do(ctx, "GET", "user:1")
//	visits := db.Do(ctx, "INCR", "visits")
//
// An unexpected request fails the test, and the message says how it differs from
// what was expected. At the end of the test, an expectation that was not met fails
// it, too. Unlike errors of the library, these messages show arguments.
//
// A [Recorder] passes requests on to another Sender and keeps copies of them.
// Package memserver has a server in memory, for tests with a real connection.
//
// Mocks and recorders keep the contract of [redis.Sender]: Send does not block and
// does not retain arguments. Malformed and forbidden requests are refused as a
// connection refuses them. Each future that is not nil is resolved once, in the
// order of the requests, and in another goroutine.
//
// The guide is docs/testing.md.
package redistest

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}
