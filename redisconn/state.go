package redisconn

// state is that of a connection:
//
//	           ┌──────────────── failure ───────────────┐
//	           ▼                                        │
//	disconnected ──── dialing ───► connecting ──── handshake done ──► connected
//	      │                             │                                 │
//	      └────────── Close, or the end of the context ──────► closed ◄───┘
//
// A failure while connecting leads back to disconnected, too. Requests are
// accepted while connecting (they wait) and while connected; in the other
// states they end at once, not sent. Changes are made in lifecycle.go only.
type state uint8

const (
	stateDisconnected state = iota
	stateConnecting
	stateConnected
	stateClosed
)

func (s state) accepts() bool { return s == stateConnecting || s == stateConnected }

// String implements fmt.Stringer.
func (s state) String() string {
	return [...]string{"disconnected", "connecting", "connected", "closed"}[s]
}
