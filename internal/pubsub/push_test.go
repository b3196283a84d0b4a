package pubsub

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		words []string
		rest  any
		want  Notice // with Name in its Topic or Channel
		fails bool
	}{
		"message":             {[]string{"message", "c"}, nil, Notice{Message, Channel, []byte("c"), []byte("c")}, false},
		"message of pattern":  {[]string{"pmessage", "p*", "pc"}, nil, Notice{Message, Pattern, []byte("p*"), []byte("pc")}, false},
		"sharded message":     {[]string{"smessage", "c"}, nil, Notice{Message, Sharded, []byte("c"), []byte("c")}, false},
		"subscribed":          {[]string{"psubscribe", "p*"}, int64(1), Notice{Subscribed, Pattern, []byte("p*"), []byte("p*")}, false},
		"unsubscribed":        {[]string{"sunsubscribe", "c"}, int64(0), Notice{Unsubscribed, Sharded, []byte("c"), []byte("c")}, false},
		"maintenance":         {[]string{"MIGRATING"}, []any{int64(1), int64(2)}, Notice{Type: Maintenance, Name: []byte("MIGRATING")}, false},
		"too few words":       {[]string{"pmessage", "p*"}, nil, Notice{}, true},
		"too many words":      {[]string{"message", "c", "d"}, nil, Notice{}, true},
		"message with more":   {[]string{"message", "c"}, int64(1), Notice{}, true},
		"not counted":         {[]string{"subscribe", "c"}, nil, Notice{}, true},
		"counted by a string": {[]string{"subscribe", "c"}, "1", Notice{}, true},
		"one word":            {[]string{"unsubscribe"}, int64(1), Notice{}, true},
		"unknown":             {[]string{"invalidate", "c"}, nil, Notice{}, true},
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

// FuzzParse checks that each decoded push is either parsed or refused with an error. A parsed push
// has the words of the input. The start of maintenance is within bounds.
func FuzzParse(f *testing.F) {
	for _, elements := range []string{
		"3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
		"4\r\n$8\r\npmessage\r\n$2\r\np*\r\n$2\r\npc\r\n$2\r\nhi\r\n",
		"3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n",
		"3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n",
		"4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$4\r\nhost\r\n",
		"4\r\n$6\r\nMOVING\r\n:1\r\n:86401\r\n_\r\n",
		"4\r\n$9\r\nMIGRATING\r\n:1\r\n:2\r\n*1\r\n$1\r\n1\r\n",
		"2\r\n$9\r\nSMIGRATED\r\n:7\r\n",
	} {
		f.Add(elements)
	}
	f.Fuzz(func(t *testing.T, elements string) {
		var push resp.Push
		d := resp.NewDecoder(bufio.NewReader(strings.NewReader(">"+elements)), resp.Limits{})
		if _, pushed, err := d.DecodePush(&push); err != nil || !pushed {
			return
		}
		kind := push.Words[0]
		work, isWork := ParseWork(kind, push.Rest)
		said, err := Parse((*redis.Push)(&push))
		require.Equal(t, isWork, err == nil && said.Type == Maintenance)
		if err != nil {
			require.True(t, redis.AsErrorx(err).IsOfType(ErrStream))
			require.Zero(t, work)
			return
		}
		if isWork {
			require.Equal(t, string(kind), work.Kind)
			require.Equal(t, work.Kind, string(said.Name))
			require.True(t, 0 <= work.In && work.In <= 24*time.Hour, work.In)
			require.True(t, work.Endpoint == "" || work.Kind == "MOVING")
			return
		}
		require.Equal(t, string(push.Words[1]), string(said.Name))
		require.Equal(t, string(push.Words[len(push.Words)-1]), string(said.Channel))
	})
}

func TestParseWork(t *testing.T) {
	for _, c := range []struct {
		kind string
		rest any
		want Work
		ok   bool
	}{
		{"MOVING", []any{int64(7), int64(15), []byte("other:6379")}, Work{"MOVING", 15 * time.Second, "other:6379"}, true},
		{"MOVING", []any{int64(7), int64(15), nil}, Work{"MOVING", 15 * time.Second, ""}, true},
		{"MOVING", []any{int64(7), int64(15), []byte("h:1\nredispipe: forged")}, Work{Kind: "MOVING"}, true},
		{"MOVING", []any{int64(7), int64(15), bytes.Repeat([]byte("h"), 1<<20)}, Work{Kind: "MOVING"}, true},
		{"MOVING", []any{int64(7), int64(15), "other:6379"}, Work{"MOVING", 15 * time.Second, "other:6379"}, true},
		{"MOVING", []any{int64(7), int64(15), int64(1)}, Work{Kind: "MOVING"}, true},
		{"MIGRATING", []any{int64(7), int64(2), []any{[]byte("1")}}, Work{Kind: "MIGRATING", In: 2 * time.Second}, true},
		{"MIGRATED", []any{int64(7), []any{[]byte("1")}}, Work{Kind: "MIGRATED"}, true},
		{"FAILING_OVER", []any{int64(7), int64(0), []byte("1")}, Work{Kind: "FAILING_OVER"}, true},
		{"FAILED_OVER", int64(7), Work{Kind: "FAILED_OVER"}, true},
		{"SMIGRATED", nil, Work{Kind: "SMIGRATED"}, true},
		{"MIGRATING", []any{int64(7), int64(1 << 62)}, Work{Kind: "MIGRATING"}, true},
		{"MIGRATING", []any{int64(7), int64(-1)}, Work{Kind: "MIGRATING"}, true},
		{"moving", []any{int64(7), int64(15)}, Work{}, false},
		{"invalidate", nil, Work{}, false},
		{"", nil, Work{}, false},
	} {
		got, ok := ParseWork([]byte(c.kind), c.rest)
		require.Equal(t, c.ok, ok, c.kind)
		require.Equal(t, c.want, got)
	}
}

func TestWorkString(t *testing.T) {
	require.Equal(t, "MOVING in 15s to other:6379", Work{"MOVING", 15 * time.Second, "other:6379"}.String())
	require.Equal(t, "FAILED_OVER", Work{Kind: "FAILED_OVER"}.String())
}
