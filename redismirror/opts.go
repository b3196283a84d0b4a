package redismirror

import (
	"cmp"

	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of [New]. If a value is out of its bounds, New returns a [redis.ErrOption].
type Opts struct {
	// Reads is the share of the reads that are repeated and compared, from 0 to 1. Default 0.
	Reads float64
	// MaxPending is how many requests may wait to be repeated, or for the answer to their repetition. Together
	// they may take at most 64 MiB. Default 16,384, at most 1,048,576.
	MaxPending int
	// MaxFindings bounds the list of [Mirror.Findings]. Default 1,024, at most 1,048,576.
	MaxFindings int
}

// maxPendingBytes bounds the requests that wait to be repeated.
const maxPendingBytes = 64 << 20

// boundsMost is the greatest MaxPending and MaxFindings.
const boundsMost = 1 << 20

// check returns an error if an option is out of its bounds.
func (o *Opts) check() error {
	switch {
	case !(o.Reads >= 0 && o.Reads <= 1): // NaN as well
		return redis.ErrOption.New("Reads must be from 0 to 1, not %v", o.Reads)
	case o.MaxPending < 0 || o.MaxPending > boundsMost:
		return redis.ErrOption.New("MaxPending must be from 1 to %d, or 0 for the default, not %d", boundsMost, o.MaxPending)
	case o.MaxFindings < 0 || o.MaxFindings > boundsMost:
		return redis.ErrOption.New("MaxFindings must be from 1 to %d, or 0 for the default, not %d", boundsMost, o.MaxFindings)
	}
	return nil
}

func (o Opts) withDefaults() Opts {
	o.MaxPending = cmp.Or(o.MaxPending, 16<<10)
	o.MaxFindings = cmp.Or(o.MaxFindings, 1024)
	return o
}
