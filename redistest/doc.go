// Package redistest tests code that uses a redis.Sender, without a server.
//
// A [Mock] expects requests, and answers them as your test says: with a value, an
// error from the server, or a failure before or after the request was sent.
//
//	mock := redistest.NewMock(t)
//	mock.Expect("GET", "user:1").Reply([]byte("Ann"))
//	mock.Expect("INCR", "visits").NotSent()
//	db := redis.SyncCtx{S: mock}
//	name := db.Do(ctx, "GET", "user:1")
//	visits := db.Do(ctx, "INCR", "visits")
//
// An unexpected request fails the test, and the message shows how it differs from
// the expected one. An expectation that is not met by the end of the test also fails
// it. Unlike errors of the library, these messages show arguments.
//
// A [Recorder] passes requests on to another Sender and keeps copies of them.
// Package memserver has an in-memory server, for tests with a real connection.
//
// Mocks and recorders keep the contract of [redis.Sender]: Send does not block and
// does not retain arguments. They refuse malformed and forbidden requests like a
// connection. They resolve each future that is not nil once, in the
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
