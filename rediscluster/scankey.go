package rediscluster

import (
	"github.com/joomcode/redispipe/redis"

	"github.com/joomcode/redispipe/internal/send"
)

// keyScanner routes each step by its arguments: the key of HSCAN, SSCAN or ZSCAN, or the cursor of
// CLUSTERSCAN.
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
