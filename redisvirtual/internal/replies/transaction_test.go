package replies

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// If the library has answered MULTI before it was sent, the reply to EXEC must show what happened later. If
// the server has refused MULTI, EXEC gets that error, unless a request has run. If the library has answered a
// request with QUEUED, and the server has refused it, the reply to EXEC says why.
func TestTransaction(t *testing.T) {
	refused := redis.ErrResult.New("READONLY no")
	slots := redis.ErrNoSlotKey.New("keys of several slots")
	abort := redis.ErrExecAbort.New("EXECABORT x")
	for _, c := range []struct {
		told    int
		replies []any
		want    string
		outcome redis.Outcome
	}{
		{0, []any{"OK", "QUEUED", []any{int64(1)}}, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", redis.OutcomeValue},
		{2, []any{"OK", "QUEUED", []any{int64(1)}}, "*1\r\n:1\r\n", redis.OutcomeValue},
		{2, []any{"OK", "QUEUED", nil}, "*-1\r\n", redis.OutcomeValue},
		{3, []any{"OK", "QUEUED", refused, refused, abort}, "-READONLY no\r\n-EXECABORT Transaction discarded because of: READONLY no\r\n", redis.OutcomeValue},
		{2, []any{"OK", "QUEUED", refused, abort}, "-READONLY no\r\n-EXECABORT x\r\n", redis.OutcomeValue},
		{3, []any{"OK", "QUEUED", refused, nil}, "*-1\r\n", redis.OutcomeValue},
		{2, []any{refused, refused, redis.ErrResult.New("ERR EXEC without MULTI")}, "-READONLY no\r\n", redis.OutcomeValue},
		{2, []any{refused, int64(1), redis.ErrResult.New("ERR EXEC without MULTI")}, "", redis.OutcomeUnknown},
		{0, []any{slots, slots, slots}, "+OK\r\n+QUEUED\r\n-CROSSSLOT Keys in request don't hash to the same slot\r\n", redis.OutcomeValue},
		{2, []any{slots, slots, slots}, "-CROSSSLOT Keys in request don't hash to the same slot\r\n", redis.OutcomeValue},
	} {
		s := stream()
		f := s.NewFlight()
		for range c.replies {
			f.Add()
		}
		f.Transaction(c.told)
		f.Push()
		for i, res := range c.replies {
			f.Resolve(res, uint64(i))
		}
		f.End(0, nil)
		s.End()
		got, err := io.ReadAll(s)
		require.Equal(t, c.want, string(got))
		require.Equal(t, c.outcome, redis.OutcomeOf(err))
	}
}
