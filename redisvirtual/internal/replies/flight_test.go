package replies

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A flight in the pool keeps no reference to its former requests, even to those that Cut has removed.
func TestFlightKeepsNothing(t *testing.T) {
	var s Stream
	s.Init(new(Terms))
	f := s.NewFlight()
	for range 3 {
		f.Add().Buf = []byte("request")
	}
	f.Refs()
	for range 20 { // enough requests that append allocates another array
		f.Add().Buf = []byte("request")
	}
	f.Cut()
	reqs, refs := f.Reqs, f.refs
	f.put()
	for _, r := range reqs[:cap(reqs)] {
		require.Nil(t, r.Buf)
	}
	for _, r := range refs {
		require.Nil(t, r)
	}
}
