package aside

import (
	"fmt"
	"strings"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/rediscache"
)

// Client is a *redispipe.Client.
type Client = lease.Client

// Opts are the options of a [Cache].
type Opts struct {
	// TTL is the greatest age of an entry, by the clock of the server: Get returns no older entry. From 1
	// ms to 366 days. Required.
	TTL time.Duration
	// RefreshAfter is an age, by the clock of the client. An entry of this age or more is loaded again in
	// the background, while Get still returns it. If RefreshAfter is TTL, entries are not loaded again before
	// they end. Default three quarters of TTL.
	RefreshAfter time.Duration
	// NegativeTTL is how long an [ErrNotFound] is kept. Default a tenth of TTL, but at most a minute.
	NegativeTTL time.Duration
	// RetryAfter is the pause after a loader has failed, in which no process loads the entry. At least 1 ms.
	// Default 1 s.
	RetryAfter time.Duration
	// LoadTimeout bounds loaders in the background. Default 30 s.
	LoadTimeout time.Duration
	// Lease is how long others wait for a process that has died in a loader. While the loader runs, the
	// lease is renewed. From 100 ms to an hour. Default 10 s.
	Lease time.Duration
	// Prefix is put before each key. It must not contain a brace. Default "aside:".
	Prefix string
	// Memory, if it is not nil, also keeps entries in the memory of the process. It must be a cache of the
	// client that is passed to [New], and Prefix must start with one of its Prefixes. All requests go through
	// it. Default: entries are only in Redis.
	Memory *rediscache.Cache
}

const longest = 366 * 24 * time.Hour

// withDefaults returns the options with their defaults.
func (o Opts) withDefaults() (Opts, error) {
	def := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	def(&o.RefreshAfter, o.TTL/4*3)
	def(&o.NegativeTTL, max(time.Millisecond, min(o.TTL/10, time.Minute)))
	def(&o.RetryAfter, time.Second)
	def(&o.LoadTimeout, 30*time.Second)
	def(&o.Lease, 10*time.Second)
	if o.Prefix == "" {
		o.Prefix = "aside:"
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		return o, fmt.Errorf("%w: a brace in Prefix", ErrOpts)
	}
	for name, v := range map[string][3]time.Duration{
		"TTL":          {time.Millisecond, o.TTL, longest},
		"RefreshAfter": {0, o.RefreshAfter, o.TTL},
		"NegativeTTL":  {time.Millisecond, o.NegativeTTL, longest},
		"RetryAfter":   {time.Millisecond, o.RetryAfter, longest},
		"LoadTimeout":  {time.Millisecond, o.LoadTimeout, longest},
		"Lease":        {100 * time.Millisecond, o.Lease, time.Hour},
	} {
		if v[1] < v[0] || v[1] > v[2] {
			return o, fmt.Errorf("%w: %s is %v", ErrOpts, name, v[1])
		}
	}
	return o, nil
}

// keys are the two keys of an entry, which are in the same slot of a cluster.
type keys struct {
	entry string // also the name of the channel that wakes waiting callers
}

// lease returns the key of the lease. Its value is the owner that loads the entry, or says that loading has failed.
func (k keys) lease() string { return k.entry + ":lease" }

func (o Opts) keys(key string) (keys, error) {
	if key == "" || key[0] == '}' {
		return keys{}, ErrKey
	}
	return keys{o.Prefix + "{" + key + "}"}, nil
}

// list returns the keys in the order in which the scripts expect them.
func (k keys) list() []string { return []string{k.entry, k.lease()} }
