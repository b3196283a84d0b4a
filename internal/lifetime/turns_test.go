package lifetime

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, cancel := context.WithCancel(t.Context())
		turns := NewTurns(life)
		first, second, third := false, false, false
		turns.After(func() { first = true })
		end := turns.Next()
		turns.After(func() { second = true })
		synctest.Wait()
		assert.False(t, first, "its turn has not ended")
		end()
		synctest.Wait()
		assert.True(t, first)
		assert.False(t, second, "the next turn has not ended")
		cancel()
		synctest.Wait()
		assert.True(t, second)
		turns.Next()()
		turns.After(func() { third = true })
		synctest.Wait()
		assert.True(t, third, "no turn outlasts the life")
	})
}
