package topology

import "time"

// Action is what becomes of a request that ended with an error.
type Action uint8

const (
	// Resolve: the error is the result.
	Resolve Action = iota
	// RetryElsewhere: by the topology, but another connection or node if there is one.
	RetryElsewhere
	// Repeat: by the topology, again.
	Repeat
	// AwaitMigration is Repeat where a migration has to go on first.
	AwaitMigration
	// FollowMoved: to the node that MOVED named, if the topology confirms it.
	FollowMoved
	// FollowAsk: the same with ASK, and ASKING.
	FollowAsk
	// Actions is how many there are.
	Actions
)

// Decision is what [Redirect] decides.
type Decision struct {
	Action Action
	// Host and Port are where to follow; an empty host is the one that answered.
	Host string
	Port int
	// Wait is how long to wait before.
	Wait time.Duration
	// Refresh: the topology is to be read again.
	Refresh bool
	// MasterOnly: a replica can't answer this.
	MasterOnly bool
}
