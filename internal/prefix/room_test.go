package prefix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/prefix"
)

// The copies of a batch's requests share memory, but neither their keys nor their other arguments mix. A room
// may be too small.
func TestRoom(t *testing.T) {
	const n = 300
	room := prefix.NewRoom(n/2, n)
	var given, copies [][]any
	for i := range n {
		args := []any{strings.Repeat("k", i*i%97), i, []byte("v")}
		cmd := "SET"
		if i%3 == 0 {
			cmd, args = "MGET", []any{i, []byte("b"), strings.Repeat("long", 2000*(i%2))}
		}
		given = append(given, slices.Clone(args))
		_, copied, _, err := prefix.Prefix("t1:").Request(cmd, args, room)
		require.Nil(t, err)
		require.Equal(t, given[i], args, "the original is unchanged")
		copies = append(copies, copied)
	}
	for i := range n {
		cmd := "SET"
		if i%3 == 0 {
			cmd = "MGET"
		}
		_, alone, _, err := prefix.Prefix("t1:").Request(cmd, given[i], nil)
		require.Nil(t, err)
		assert.Equal(t, alone, copies[i])
	}
}
