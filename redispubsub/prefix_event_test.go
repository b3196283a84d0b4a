package redispubsub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An event that Chan gives back to the inbox loses the prefix again when it is taken again.
func TestPrefixIsRemovedFromACopy(t *testing.T) {
	taken := Gap{Topics: []Topic{Channel("t:t:news"), Pattern("t:t:*")}}
	for range 2 {
		ev, own := namePrefix("t:").event(taken)
		require.True(t, own)
		require.Equal(t, []Topic{Channel("t:news"), Pattern("t:*")}, ev.(Gap).Topics)
	}
}
