// Package redisdumb is the plainest redis.Sender: one socket, one request or
// pipeline on it at a time, each call blocks until its replies are read. It is
// for scripts, tests and tools; services want redisconn or rediscluster.
//
//	res := redisdumb.Do("127.0.0.1:6379", "GET", "key")
//
//	conn := &redisdumb.Conn{Addr: "127.0.0.1:6379"}
//	defer conn.Close()
//	if err := redis.AsError(conn.Do("SET", "key", 1)); err != nil { … }
//
// A Conn dials at its first call and again at the first call after a failure;
// state set on the socket (AUTH, SELECT) is gone then. It keeps no goroutine.
package redisdumb
