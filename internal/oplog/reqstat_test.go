package oplog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	prints struct{}
	silent struct{}
	chosen struct{ wants bool }
)

func (c chosen) WantsReqStat() bool { return c.wants }

// A type that embeds a logger without statistics may have its own ReqStat.
func TestWantsReqStat(t *testing.T) {
	for _, logger := range []any{nil, prints{}, &prints{}, silent{}, &silent{}, chosen{false}} {
		require.False(t, WantsReqStat[prints, silent](logger), "%T", logger)
	}
	for _, logger := range []any{chosen{true}, struct{ silent }{}, &struct{ prints }{}, 1} {
		require.True(t, WantsReqStat[prints, silent](logger), "%T", logger)
	}
}
