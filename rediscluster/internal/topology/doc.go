// Package topology decides for package rediscluster which servers serve which slots, according to
// the reports of servers or sentinels. It does not dial, wait, log or take a lock, and it knows no
// connection: its functions take and return values.
package topology
