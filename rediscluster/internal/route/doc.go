// Package route has the nodes of a topology, each with its connections, and chooses the connection for
// a request. It opens no connection, starts no goroutine and never waits; package rediscluster does
// these.
package route
