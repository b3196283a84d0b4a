package hotkeys

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Every is how many requests there are for each one that is counted.
const Every = 64

// First draws which one of the next requests is counted: after it, one of Every.
func First() int { return int(rand.Uint32() % Every) }

// Halving is how long it takes until a request counts half.
const Halving = 10 * time.Second

// counted is how many requests must have been counted before a key can be hot: among fewer it may be by chance.
const counted = 256

// LongestKey is how many bytes of a key are kept.
const LongestKey = 1 << 10

// Unit is what is counted.
type Unit int

const (
	// Requests are requests with the key.
	Requests Unit = iota
	// Bytes are the bytes of these requests and of their replies.
	Bytes
	units
)

// Key is a key with its traffic.
type Key struct {
	Key   string
	Unit  Unit
	Share float64 // of the traffic of all keys
	Rate  float64 // per second
}

// Counter counts requests. It is safe for concurrent use.
type Counter struct {
	share float64 // of a hot key

	mu sync.Mutex // guards what follows
	// began is when the counts were halved last, or zero before the first request. span is the time before it that they
	// stand for, halved in the same way. requests is how many were counted, halved in the same way.
	began          time.Time
	span, requests float64
	of             [units]sketch
}

// NewCounter returns a Counter. A key is hot if it has at least this share of the traffic.
func NewCounter(share float64) *Counter {
	c := &Counter{share: share}
	for unit := range c.of {
		c.of[unit].byKey = map[string]*entry{}
	}
	return c
}

// Count counts a request with its bytes. It returns the keys that have become hot.
func (c *Counter) Count(keys []string, bytes int) (hot []Key) {
	if len(keys) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.fadeLocked(now)
	c.requests++
	for _, key := range keys {
		for unit, n := range [units]float64{Requests: 1, Bytes: float64(bytes) / float64(len(keys))} {
			e := c.of[unit].add(key, n)
			if !e.hot && c.requests >= counted && c.shareLocked(e, Unit(unit)) >= c.share {
				e.hot = true
				hot = append(hot, c.keyLocked(e, Unit(unit), now))
			}
		}
	}
	return hot
}

// Top returns the n keys with the most traffic, the first with the most.
func (c *Counter) Top(unit Unit, n int) []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.fadeLocked(now)
	var keys []Key
	for _, e := range c.of[unit].top(n) {
		keys = append(keys, c.keyLocked(e, unit, now))
	}
	return keys
}

// fadeLocked halves the counts for each Halving that has passed. A key whose share is no longer half of what
// makes it hot may become hot again.
func (c *Counter) fadeLocked(now time.Time) {
	if c.began.IsZero() {
		c.began = now
	}
	times := now.Sub(c.began) / Halving
	if times <= 0 {
		return
	}
	by := math.Exp2(-float64(times))
	c.began = c.began.Add(times * Halving)
	c.span = c.span*by + (1-by)*Halving.Seconds() // 1/2 + 1/4 + …
	c.requests *= by
	for unit := range c.of {
		c.of[unit].fade(by)
		for _, e := range c.of[unit].entries {
			e.hot = e.hot && c.shareLocked(e, Unit(unit)) >= c.share/2
		}
	}
}

func (c *Counter) shareLocked(e *entry, unit Unit) float64 {
	if c.of[unit].total == 0 {
		return 0
	}
	return e.least() / c.of[unit].total
}

func (c *Counter) keyLocked(e *entry, unit Unit, now time.Time) Key {
	span := max(1, c.span+now.Sub(c.began).Seconds()) // in less than a second there are too few
	return Key{e.key, unit, c.shareLocked(e, unit), e.least() * Every / span}
}
