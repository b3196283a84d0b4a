package lease

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestTurnsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		first, err := turns.Take(t.Context(), "a")
		require.NoError(t, err)
		other, err := turns.Take(t.Context(), "b")
		require.NoError(t, err)
		other()
		left, cancel := context.WithCancel(t.Context())
		var order []int
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = left
			}
			go func() {
				end, err := turns.Take(ctx, "a")
				if i == 2 {
					require.ErrorIs(t, err, context.Canceled)
					return
				}
				order = append(order, i)
				end()
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		first()
		synctest.Wait()
		require.Equal(t, []int{0, 1, 3, 4}, order)
		require.Empty(t, turns.turns)
	})
}
