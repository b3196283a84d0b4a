package redisconn

import (
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/redis"
)

// Scanner implements redis.Sender.
func (c *Connection) Scanner(opts redis.ScanOpts) redis.Scanner {
	if !c.opened() {
		return backend.Nobody.Scanner(opts)
	}
	return &scanner{ScannerBase: redis.ScannerBase{ScanOpts: opts}, c: c}
}

type scanner struct {
	redis.ScannerBase
	c *Connection
}

// Next implements redis.Scanner.
func (s *scanner) Next(cb redis.Future) {
	if s.IterLast() {
		s.c.pipe.Resolve(cb, redis.ScanEOF, 0)
		return
	}
	s.DoNext(cb, s.c)
}
