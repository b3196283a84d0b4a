// Package topology makes the decisions of package rediscluster: which servers serve which slots,
// according to the reports of servers or sentinels, and what to do with a request after an error. It
// does not dial, wait, log or take a lock, and it knows no connection: its functions take and return
// values.
package topology
