package rediscluster

import (
	"github.com/joomcode/redispipe/redis"

	"github.com/joomcode/redispipe/internal/send"
)

// keyScanner routes each step by its arguments: by the key of HSCAN and the like, or by
// CLUSTERSCAN's cursor.
type keyScanner struct {
	redis.ScannerBase
	c *Cluster
}

// Next implements redis.Scanner.
func (s *keyScanner) Next(cb redis.Future) {
	if !s.IterLast() {
		s.DoNext(cb, s.c)
	} else {
		send.Resolve(cb, redis.ScanEOF, 0)
	}
}
