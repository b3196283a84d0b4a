package redis

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// sampleEvery is the number of requests of which one is counted.
const sampleEvery = 64

// firstSample returns, at random, the index of the next request that is counted. After that, one of
// sampleEvery is counted.
func firstSample() int { return int(rand.Uint32() % sampleEvery) }

// hotHalving is the time after which a request counts half.
const hotHalving = 10 * time.Second

// hotLeast is how many requests must have been counted before a key can be hot. With fewer, the
// share of a key may be due to chance.
const hotLeast = 256

// hotLongest is how many bytes of a key are kept, at most.
const hotLongest = 1 << 10

// hotUnit is what is counted.
type hotUnit int

const (
	// hotRequests are requests with the key.
	hotRequests hotUnit = iota
	// hotBytes are the bytes of these requests and of their replies.
	hotBytes
	hotUnits
)

// hotCounter counts requests. It is safe for concurrent use.
type hotCounter struct {
	share float64 // a key is hot from this share on

	mu sync.Mutex // guards the fields below
	// began is when the counts were last halved, or zero before the first request. span is the
	// number of seconds before began that the counts stand for. requests is the number of counted
	// requests. Both are halved together with the counts.
	began          time.Time
	span, requests float64
	of             [hotUnits]hotSketch
}

// newHotCounter returns a hotCounter. A key is hot if its share of the traffic is at least share.
func newHotCounter(share float64) *hotCounter {
	c := &hotCounter{share: share}
	for unit := range c.of {
		c.of[unit].byKey = map[string]*hotEntry{}
	}
	return c
}

// count counts a request with its keys and its number of bytes. It returns the keys that have become
// hot.
func (c *hotCounter) count(keys []string, bytes int) (hot []HotKey) {
	if len(keys) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.fadeLocked(now)
	c.requests++
	for _, key := range keys {
		for unit, n := range [hotUnits]float64{hotRequests: 1, hotBytes: float64(bytes) / float64(len(keys))} {
			e := c.of[unit].add(key, n)
			if e != nil && !e.hot && c.requests >= hotLeast && c.shareLocked(e, hotUnit(unit)) >= c.share {
				e.hot = true
				hot = append(hot, c.keyLocked(e, hotUnit(unit), now))
			}
		}
	}
	return hot
}

// top returns the n keys with the most traffic, in descending order.
func (c *hotCounter) top(unit hotUnit, n int) []HotKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.fadeLocked(now)
	var keys []HotKey
	for _, e := range c.of[unit].top(n) {
		keys = append(keys, c.keyLocked(e, unit, now))
	}
	return keys
}

// fadeLocked halves the counts once for each hotHalving that has passed. A key may become hot again
// after its share has fallen below half of what makes it hot.
func (c *hotCounter) fadeLocked(now time.Time) {
	if c.began.IsZero() {
		c.began = now
	}
	times := now.Sub(c.began) / hotHalving
	if times <= 0 {
		return
	}
	by := math.Exp2(-float64(times))
	c.began = c.began.Add(times * hotHalving)
	c.span = c.span*by + (1-by)*hotHalving.Seconds() // each halving adds hotHalving, and then halves the sum
	c.requests *= by
	for unit := range c.of {
		c.of[unit].fade(by)
		for _, e := range c.of[unit].entries {
			e.hot = e.hot && c.shareLocked(e, hotUnit(unit)) >= c.share/2
		}
	}
}

func (c *hotCounter) shareLocked(e *hotEntry, unit hotUnit) float64 {
	if c.of[unit].total == 0 {
		return 0
	}
	return e.least() / c.of[unit].total
}

func (c *hotCounter) keyLocked(e *hotEntry, unit hotUnit, now time.Time) HotKey {
	span := max(1, c.span+now.Sub(c.began).Seconds()) // less than a second is too short for a rate
	return HotKey{e.key, unit == hotBytes, c.shareLocked(e, unit), e.least() * sampleEvery / span}
}
