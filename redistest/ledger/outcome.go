package ledger

// Outcome is how a request ended.
type Outcome uint32

// The states of a request. An issued request moves to one of the later states, once.
const (
	None Outcome = iota // no such request
	Issued
	Value       // a reply that is not an error
	ServerError // a reply that is an error
	NotSent     // provably no byte of it was written
	Unknown     // it may have run
	outcomes
)

// String returns the outcome's name.
func (o Outcome) String() string {
	return [...]string{"none", "issued", "value", "server error", "not sent", "unknown", "?"}[min(o, outcomes)]
}
