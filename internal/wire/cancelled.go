package wire

// IsCancelled reports whether nobody waits for a future any more. One that panics when it
// is asked counts as waited for.
func IsCancelled(cb Future) (cancelled bool) {
	defer func() { _ = recover() }()
	return cb.Cancelled() != nil
}
