package pubsub

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		words []string
		rest  any
		want  Said // with Name
		fails bool
	}{
		"message":             {[]string{"message", "c"}, nil, Said{Message, Channel, []byte("c"), []byte("c")}, false},
		"message of pattern":  {[]string{"pmessage", "p*", "pc"}, nil, Said{Message, Pattern, []byte("p*"), []byte("pc")}, false},
		"sharded message":     {[]string{"smessage", "c"}, nil, Said{Message, Sharded, []byte("c"), []byte("c")}, false},
		"subscribed":          {[]string{"psubscribe", "p*"}, int64(1), Said{Subscribed, Pattern, []byte("p*"), []byte("p*")}, false},
		"unsubscribed":        {[]string{"sunsubscribe", "c"}, int64(0), Said{Unsubscribed, Sharded, []byte("c"), []byte("c")}, false},
		"maintenance":         {[]string{"MIGRATING"}, []any{int64(1), int64(2)}, Said{What: Maintenance, Name: []byte("MIGRATING")}, false},
		"too few words":       {[]string{"pmessage", "p*"}, nil, Said{}, true},
		"too many words":      {[]string{"message", "c", "d"}, nil, Said{}, true},
		"message with more":   {[]string{"message", "c"}, int64(1), Said{}, true},
		"not counted":         {[]string{"subscribe", "c"}, nil, Said{}, true},
		"counted by a string": {[]string{"subscribe", "c"}, "1", Said{}, true},
		"one word":            {[]string{"unsubscribe"}, int64(1), Said{}, true},
		"unknown":             {[]string{"invalidate", "c"}, nil, Said{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			push := &redis.Push{Rest: c.rest}
			for _, word := range c.words {
				push.Words = append(push.Words, []byte(word))
			}
			got, err := Parse(push)
			if c.fails {
				assert.True(t, redis.AsErrorx(err).IsOfType(ErrStream))
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}
