// Package topology is what package rediscluster decides, and does not do: which servers
// serve which slots, by what they, or sentinels, say; and what becomes of a request after
// an error. Nothing in it dials, waits, logs or takes a lock, and it knows no connection:
// values go in and come out.
package topology
