package redispubsub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Removing the prefix from an event does not change the event itself: Chan may give it back to the inbox,
// and the prefix is then removed again for the next loop.
func TestPrefixIsRemovedFromACopy(t *testing.T) {
	taken := Gap{Topics: []Topic{Channel("t:t:news"), Pattern("t:t:*")}}
	for range 2 {
		ev, own := namePrefix("t:").event(taken)
		require.True(t, own)
		require.Equal(t, []Topic{Channel("t:news"), Pattern("t:*")}, ev.(Gap).Topics)
	}
}
