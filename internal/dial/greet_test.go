package dial

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Settle waits only for handshakes that began before it was called.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(t.Context(), Config{})
		require.NoError(t, d.Settle(t.Context()))
		first, second := d.Begin(), d.Begin()
		settled := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { settled <- d.Settle(ctx) }()
		synctest.Wait()
		third := d.Begin()
		first()
		synctest.Wait()
		require.Empty(t, settled)
		second()
		require.NoError(t, <-settled)

		go func() { settled <- d.Settle(ctx) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-settled, context.Canceled)
		third()
		require.NoError(t, d.Settle(t.Context()))
	})
}
