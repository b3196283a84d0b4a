package redismirror

import "cmp"

// Opts are the options of [New].
type Opts struct {
	// Reads is the share of the reads that are repeated and compared: from 0, which is the default, to 1.
	Reads float64
	// MaxPending is how many requests may wait to be repeated, or for the answer to their repetition. Together they
	// may have 64 MiB. Default 16,384.
	MaxPending int
	// MaxFindings bounds the list of [Mirror.Findings]. Default 1,024.
	MaxFindings int
}

// maxPendingBytes bounds the requests that wait to be repeated.
const maxPendingBytes = 64 << 20

func (o Opts) withDefaults() Opts {
	o.Reads = min(max(o.Reads, 0), 1)
	o.MaxPending = cmp.Or(max(0, o.MaxPending), 16<<10)
	o.MaxFindings = cmp.Or(max(0, o.MaxFindings), 1024)
	return o
}
