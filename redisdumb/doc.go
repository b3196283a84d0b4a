// Package redisdumb has the simplest [redis.Sender]: it has one socket, sends one
// request or pipeline at a time, and each call blocks until its replies are read.
// It is for scripts, tests and tools; for services use redisconn or rediscluster.
//
//	res := redisdumb.Do("127.0.0.1:6379", "GET", "key")
//
//	conn := &redisdumb.Conn{Addr: "127.0.0.1:6379"}
//	defer conn.Close()
//	if err := redis.AsError(conn.Do("SET", "key", 1)); err != nil { … }
//
// A [Conn] dials at its first call, and again at the first call after a failure. The new socket does not
// have the state of the old one (AUTH, SELECT). A Conn has no goroutine.
package redisdumb
