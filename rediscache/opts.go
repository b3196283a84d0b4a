package rediscache

import "time"

// Opts are the options of a cache. The zero value caches nothing but what is asked for with
// [Cache.WithMaxAge].
type Opts struct {
	// Prefixes are those of the keys that are cached; an empty one is that of all keys. A
	// request of several keys is cached if each of them has one. Default none.
	Prefixes []string
	// MaxAge is the oldest that a reply is served, from when it was read. It bounds what
	// servers do not tell of: that a key has expired which they have not deleted yet. Default
	// 1 min.
	MaxAge time.Duration
	// NullAge is MaxAge for null, which no server says anything of when its slot moves.
	// Default 1 s, at most MaxAge.
	NullAge time.Duration
	// MaxBytes bounds the bytes that are held, within 5 %: requests, replies, and what it takes
	// to find them and, up to a 64th, to know which requests were sent before. A reply that would
	// take more than a 32nd of it is not kept. Default 64 MiB, at least 1 MiB.
	MaxBytes int64
}

const (
	defaultMaxAge   = time.Minute
	defaultNullAge  = time.Second
	defaultMaxBytes = 64 << 20
	leastMaxBytes   = 1 << 20
)

func (o Opts) withDefaults() Opts {
	if o.MaxAge <= 0 {
		o.MaxAge = defaultMaxAge
	}
	if o.NullAge <= 0 {
		o.NullAge = defaultNullAge
	}
	o.NullAge = min(o.NullAge, o.MaxAge)
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	o.MaxBytes = max(o.MaxBytes, leastMaxBytes)
	return o
}
