// Package route holds the nodes of a topology, each with its connections, and chooses the connection
// for a request. It opens no connection, starts no goroutine and never waits. Package rediscluster
// does that.
package route
