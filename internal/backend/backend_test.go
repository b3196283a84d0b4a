package backend

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// servers is a sender with a backend.
type servers struct{ redis.Sender }

type inner struct{ send.Backend[redis.Future] }

// handle delegates to its sender, like redispipe.Client.
type handle struct{ redis.Sender }

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		switch s := sender.(type) {
		case *handle:
			return s.Sender, true
		case *servers:
			return inner{}, true
		}
		return nil, false
	})
}

var hook = redis.NewSlowLog(nil, time.Hour)

// Inside looks into handles, hooks and retries, but not into a user's decorator, whose own methods
// must be called.
func TestInside(t *testing.T) {
	own := &servers{}
	hooked := redis.WithHook(own, hook)
	retried := redis.WithRetry(redis.WithHook(hooked, hook), redis.RetryOpts{})
	decorated := &struct{ *handle }{&handle{own}}
	for name, c := range map[string]struct {
		s, inside redis.Sender
		layers    []redis.Sender
	}{
		"nothing around":   {own, own, nil},
		"a hook":           {hooked, own, []redis.Sender{hooked}},
		"a handle":         {&handle{hooked}, own, []redis.Sender{hooked}},
		"several":          {&handle{&handle{hooked}}, own, []redis.Sender{hooked}},
		"a decorator":      {decorated, decorated, nil},
		"a decorator, too": {redis.WithHook(decorated, hook), decorated, []redis.Sender{nil}},
		"retries and two":  {retried, own, []redis.Sender{retried, nil, hooked}},
	} {
		t.Run(name, func(t *testing.T) {
			var layers []redis.Sender
			require.Same(t, c.inside, Inside(c.s, func(s redis.Sender, again func(redis.Sender) redis.Sender) {
				layers = append(layers, s)
				require.IsType(t, s, again(own))
			}))
			require.Len(t, layers, len(c.layers))
			for i, layer := range c.layers {
				if layer != nil {
					require.Same(t, layer, layers[i])
				}
			}
		})
	}
}

// A sender has a backend. A decorator that embeds the sender has none.
func TestBackendOf(t *testing.T) {
	own := &servers{}
	require.Equal(t, inner{}, send.BackendOf[redis.Future](own))
	require.Nil(t, send.BackendOf[redis.Future](&struct{ *servers }{own}))
	require.Nil(t, send.BackendOf[redis.Future](redis.WithHook(own, hook)))
	require.Nil(t, send.BackendOf[redis.Future](nil))
}
