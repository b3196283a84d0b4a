package redis

import (
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
)

// recall returns the result of a command if it is in memory. If t is not nil and takes the
// value, the value is in t. recall keeps no reference to args.
func recall(m wire.Memory[Future], cmd string, args []any, t *target, seen *wire.Place) (res any, ok bool) {
	scratch := wire.GetScratch()
	var got wire.Remembered
	var bad int
	if scratch.Buf, bad = resp.AppendCommand(scratch.Buf, cmd, args); bad < 0 { // else the sender returns the error
		got, ok = m.Recall(scratch.Buf)
	}
	wire.PutScratch(scratch)
	switch {
	case !ok:
		return nil, false
	case seen != nil:
		*seen = wire.Place{Cached: true}
	}
	switch {
	case !got.IsText:
		return got.Result, true
	case t != nil && t.SetText(got.Text):
		t.filled = true
		return nil, true
	}
	return []byte(got.Text), true
}
