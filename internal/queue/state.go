package queue

// State is that of a connection:
//
//	           ┌──────────────── failure ───────────────┐
//	           ▼                                        │
//	disconnected ──── dialing ───► connecting ──── handshake done ──► connected
//	      │                             │                                 │
//	      └────────── Close, or the end of the context ──────► closed ◄───┘
//
// A failure while connecting leads back to disconnected, too. Requests are accepted while
// connecting (they wait) and while connected; in the other states they end at once, not
// sent. [Queue.Change] makes all changes.
type State uint8

// The states.
const (
	Disconnected State = iota
	Connecting
	Connected
	Closed
)

// Accepts reports whether requests are accepted.
func (s State) Accepts() bool { return s == Connecting || s == Connected }

// String implements fmt.Stringer.
func (s State) String() string {
	return [...]string{"disconnected", "connecting", "connected", "closed"}[s]
}
