package rediscluster

import (
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// Scanner implements redis.Sender. SCAN walks every master, one after the
// other; a key is returned once at least if it is there all the time and its
// slot does not move. After an error Next may be called again: it repeats the
// step. HSCAN, SSCAN and ZSCAN walk the key.
func (c *Cluster) Scanner(opts redis.ScanOpts) redis.Scanner {
	s := &scanner{ScannerBase: redis.ScannerBase{ScanOpts: opts}, c: c}
	if opts.Cmd != "" && !strings.EqualFold(opts.Cmd, "SCAN") {
		s.single = true
		return s
	}
	t := c.topology.Load()
	seen := make([]bool, len(t.shards))
	for slot, i := range t.slots {
		if i != noShard && !seen[i] {
			seen[i] = true
			s.slots = append(s.slots, slot)
		}
	}
	return s
}

// scanner walks shard after shard. A shard is known by one of its slots, since
// its master may change: a new one is walked from the start, as cursors of
// another server are worth nothing.
type scanner struct {
	redis.ScannerBase
	c      *Cluster
	single bool // one key is walked
	slots  []int
	at     int   // in slots
	master *node // that the cursor is of
}

// Next implements redis.Scanner.
func (s *scanner) Next(cb redis.Future) {
	if s.IterLast() {
		s.at++
		s.Iter = nil
		if s.single {
			s.at = len(s.slots) + 1
		}
	}
	switch {
	case s.single && s.at == 0:
		s.DoNext(cb, s.c)
	case s.at >= len(s.slots):
		if cb != nil {
			cb.Resolve(redis.ScanEOF, 0)
		}
	default:
		s.DoNext(cb, shardSender{s.c, s})
	}
}

// shardSender sends a scanner's steps to the master of its shard.
type shardSender struct {
	*Cluster
	s *scanner
}

// Send implements redis.Sender.
func (ss shardSender) Send(_ redis.Request, cb redis.Future, n uint64) {
	c, s := ss.Cluster, ss.s
	w := way{slot: s.slots[s.at], seed: c.opts.RoundRobinSeed}
	sh := c.topology.Load().shard(w.slot)
	var l *link
	if sh != nil && !c.draining.Load() {
		if s.master != sh.master {
			s.master, s.Iter = sh.master, nil
		}
		l = sh.master.pick(c.opts.RoundRobinSeed, nil)
	}
	switch {
	case c.draining.Load():
		cb.Resolve(c.errClosed(), n)
	case l == nil:
		c.refresher.force()
		cb.Resolve(c.errNoLink(w), n)
	default:
		l.conn.Send(s.ScanOpts.Request(s.Iter), cb, n)
	}
}
