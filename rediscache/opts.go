package rediscache

import "time"

// Opts are the options of a cache. With the zero value, only [Cache.WithMaxAge] caches.
type Opts struct {
	// Prefixes select the keys to cache: those that start with one of them. An empty prefix selects
	// all keys. A request with several keys is cached if all of them are selected. Default none.
	Prefixes []string
	// MaxAge is the greatest age of a served reply, counted from when it was read. It bounds how long the
	// cache may serve a key that has expired but that the server has not deleted yet. Default 1 min.
	MaxAge time.Duration
	// NullAge is MaxAge for null replies. It is separate, because when a slot moves, no server reports
	// that a missing key of the slot may exist now. Default 1 s, at most MaxAge.
	NullAge time.Duration
	// MaxBytes bounds the memory of the cache, within 5 %: requests, replies, the index, and the table of
	// requests that were sent before, which takes at most 1/64. The cache does not keep a reply that would
	// take more than 1/32 of MaxBytes. Default 64 MiB, at least 1 MiB.
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
