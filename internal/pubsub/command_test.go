package pubsub

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// Plan makes a command for each kind and slot. No command is so large that it keeps a server busy
// for long.
func TestPlan(t *testing.T) {
	ask := func(k Kind, name string) Ask { return Ask{Topic: Topic{k, name}, Subscribe: true} }
	alone, off := ask(Channel, "c"), ask(Channel, "d")
	alone.Alone, off.Subscribe = true, false
	var many []Ask
	for i := range commandMost + 1 {
		many = append(many, ask(Pattern, fmt.Sprint(i)))
	}
	for name, c := range map[string]struct {
		asks []Ask
		want []int // the number of topics of each command
	}{
		"one kind":       {[]Ask{ask(Channel, "a"), ask(Channel, "b")}, []int{2}},
		"several kinds":  {[]Ask{ask(Channel, "a"), ask(Pattern, "a"), ask(Sharded, "a")}, []int{1, 1, 1}},
		"slots":          {[]Ask{ask(Sharded, "{a}1"), ask(Sharded, "b"), ask(Sharded, "{a}2")}, []int{2, 1}},
		"alone":          {[]Ask{ask(Channel, "a"), alone, ask(Channel, "b")}, []int{2, 1}},
		"on and off":     {[]Ask{ask(Channel, "a"), off}, []int{1, 1}},
		"more than most": {many, []int{commandMost, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			fences := map[string]bool{}
			for _, cmd := range Plan(c.asks) {
				got = append(got, len(cmd.Topics))
				fences[cmd.fence] = true
			}
			assert.Equal(t, c.want, got)
			assert.Len(t, fences, len(got))
		})
	}
}

// The answers to a command end with the echo of its PING. An error before the echo belongs to the
// command.
func TestFlight(t *testing.T) {
	flight := Flight(Plan([]Ask{{Topic: Topic{Channel, "a"}, Subscribe: true}, {Topic: Topic{Sharded, "b"}}}))
	first, second := flight[0], flight[1]
	assert.Equal(t, []redis.Request{
		redis.Req("SUBSCRIBE", "a"), redis.Req("PING", first.fence), redis.Req("SUNSUBSCRIBE", "b"), redis.Req("PING", second.fence),
	}, flight.Requests())
	assert.True(t, flight.Asks(first, true))
	assert.False(t, flight.Asks(first, false))
	assert.False(t, flight.Asks(second, false), "not yet")
	assert.False(t, flight.Asks(nil, false))
	_, err := flight.Take([]byte(second.fence))
	assert.Error(t, err)
	refusal := redis.ErrResult.New("NOPERM")
	answered, err := flight.Take(refusal)
	require.NoError(t, err)
	assert.Nil(t, answered)
	assert.Equal(t, errors.Unwrap(refusal), errors.Unwrap(first.Err))
	_, err = flight.Take(refusal)
	assert.Error(t, err, "a second one")
	for _, cmd := range []*Command{first, second} {
		answered, err = flight.Take([]byte(cmd.fence))
		require.NoError(t, err)
		assert.Same(t, cmd, answered)
	}
	_, err = flight.Take([]byte("x"))
	assert.Error(t, err)
}
