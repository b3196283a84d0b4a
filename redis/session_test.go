package redis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// A Session that OpenSession has not made behaves like a closed one.
func TestZeroSession(t *testing.T) {
	var s redis.Session
	reqs := []redis.Request{redis.Req("GET", "a")}
	_, err := s.Transact(reqs)
	for _, res := range append(s.SendMany(reqs), s.Do("GET", "a"), err) {
		require.True(t, redis.AsErrorx(res).IsOfType(redis.ErrSessionClosed), "%v", res)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res))
	}
	s.Close()
}
