package upstream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// If a master has run a request, or may have run it, the outcome is not "not sent".
func TestJoined(t *testing.T) {
	notSent, unknown := redis.ErrRequestWithdrawn.New("full"), redis.ErrIO.New("lost")
	refused := redis.ErrResult.New("ERR no")
	for _, c := range []struct {
		join    shared
		results []any
		want    any
		outcome redis.Outcome
	}{
		{either, []any{"OK", "OK"}, "OK", redis.OutcomeValue},
		{sum, []any{int64(1), int64(2), int64(3)}, int64(6), redis.OutcomeValue},
		{both, []any{[]any{"a"}, []any{}, []any{"b"}}, []any{"a", "b"}, redis.OutcomeValue},
		{everywhere, []any{[]any{int64(1), int64(1)}, []any{int64(0), int64(1)}}, []any{int64(0), int64(1)}, redis.OutcomeValue},
		{either, []any{"OK", refused, "OK"}, refused, redis.OutcomeRefused},
		{either, []any{notSent, notSent}, notSent, redis.OutcomeNotSent},
		{either, []any{"OK", notSent}, nil, redis.OutcomeUnknown},
		{either, []any{notSent, refused}, nil, redis.OutcomeUnknown},
		{either, []any{notSent, unknown, "OK"}, unknown, redis.OutcomeUnknown},
		{either, nil, nil, redis.OutcomeNotSent},
		{sum, []any{int64(1), "no number"}, nil, redis.OutcomeUnknown},
		{everywhere, []any{[]any{int64(1)}, []any{}}, nil, redis.OutcomeUnknown},
	} {
		res := joined(c.join, c.results)
		require.Equal(t, c.outcome, redis.OutcomeOf(redis.AsError(res)), "%v", c.results)
		if c.want != nil {
			require.Equal(t, c.want, res)
		}
	}
}

// Every cursor encodes where a SCAN continues.
func TestPlace(t *testing.T) {
	for _, p := range []place{{}, {slot: slots - 1}, {1, 2, 3}, {slots - 1, masters - 1, 1<<40 - 1}} {
		cursor, fits := p.join()
		require.True(t, fits)
		require.Equal(t, p, placeOf(cursor))
	}
	_, fits := place{cursor: 1 << 40}.join()
	require.False(t, fits)
}
