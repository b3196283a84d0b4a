package errs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAttempts(t *testing.T) {
	unknown, later := ErrIO.New("reading"), ErrIO.New("reading again")
	refused, unsent := ErrNoScript.New("NOSCRIPT"), ErrQueueFull.New("full")

	var a Attempts
	a.Failed(nil)
	a.Failed(unsent)
	a.Failed(refused)
	require.False(t, a.MayHaveRun())
	require.Same(t, unsent, a.Result(unsent))
	require.Same(t, refused, a.Result(refused))

	a.Failed(unknown)
	a.Failed(later)
	require.True(t, a.MayHaveRun())
	require.Same(t, unknown, a.Result(unsent), "the first that may have run")
	require.Equal(t, Unknown, OutcomeOf(a.Result(later)))
	require.Equal(t, Refused, OutcomeOf(a.Result(refused)))

	var outer Attempts // of a sender that sends again what the inner one has given up
	outer.Failed(a.Result(refused))
	require.Same(t, unknown, outer.Result(unsent))
}
