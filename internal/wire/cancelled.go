package wire

// IsCancelled reports whether nobody waits for a future any more.
func IsCancelled(cb Future) bool { return WhyCancelled(cb) != nil }

// WhyCancelled returns why nobody waits for a future any more, or nil. One that panics when it
// is asked counts as waited for.
func WhyCancelled(cb Future) (why error) {
	defer func() { _ = recover() }()
	return cb.Cancelled()
}
