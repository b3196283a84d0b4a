// Package route has the nodes of a topology, each with its connections, and finds the
// connection over which a request goes. It makes no connection, starts no goroutine and
// waits for nothing: package rediscluster does.
package route
