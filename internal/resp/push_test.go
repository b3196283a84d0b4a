package resp_test

import (
	"bufio"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

func pushDecoder(text string, size int, resp2 bool) *resp.Decoder {
	d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(text), size), resp.Limits{})
	if resp2 {
		d.OnlyRESP2()
	}
	return d
}

func TestDecodePush(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		text  string
		words []string
		body  []byte
		rest  any
	}{
		{"3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n", []string{"message", "a"}, []byte("hi"), nil},
		{"3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n", []string{"message", "a"}, []byte{}, nil},
		{"3\r\n$7\r\nmessage\r\n$100\r\n" + long + "\r\n$100\r\n" + long + "\r\n", []string{"message", long}, []byte(long), nil},
		{"3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", []string{"subscribe", "a"}, nil, int64(1)},
		{"2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", []string{"invalidate"}, nil, []any{[]byte("k")}},
		{"2\r\n$10\r\ninvalidate\r\n$-1\r\n", []string{"invalidate"}, nil, nil},
		{"2\r\n$4\r\npong\r\n$0\r\n\r\n", []string{"pong"}, []byte{}, nil},
		{"1\r\n$4\r\npong\r\n", []string{"pong"}, nil, nil},
		{"4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$3\r\nh:1\r\n", []string{"MOVING"}, nil, []any{int64(1), int64(15), []byte("h:1")}},
		{"3\r\n$8\r\nMIGRATED\r\n$-1\r\n*1\r\n$1\r\n1\r\n", []string{"MIGRATED"}, nil, []any{nil, []any{[]byte("1")}}},
	} {
		for _, resp2 := range []bool{true, false} {
			head := map[bool]string{true: "*", false: ">"}[resp2]
			d := pushDecoder(strings.Repeat(head+c.text, 2), 16, resp2)
			var p resp.Push
			for range 2 {
				reply, pushed, err := d.DecodePush(&p)
				require.NoError(t, err, "%q", c.text)
				require.True(t, pushed)
				assert.Nil(t, reply)
				var words []string
				for _, w := range p.Words {
					words = append(words, string(w))
				}
				assert.Equal(t, c.words, words)
				assert.Equal(t, c.body, p.Body)
				assert.Equal(t, c.rest, p.Rest)
				assert.Equal(t, len(c.text)+1, d.Size())
			}
		}
	}
}

func TestDecodePushOfReplies(t *testing.T) {
	for text, want := range map[string]any{
		"+PONG\r\n": "PONG", "$1\r\na\r\n": []byte("a"), "*1\r\n:1\r\n": []any{int64(1)},
		"|1\r\n+a\r\n+b\r\n:1\r\n": int64(1),
	} {
		var p resp.Push
		reply, pushed, err := pushDecoder(text, 64, false).DecodePush(&p)
		require.NoError(t, err)
		assert.False(t, pushed)
		assert.Equal(t, want, reply)
	}
	// An attribute before a push does not hide the push.
	var p resp.Push
	_, pushed, err := pushDecoder("|1\r\n+a\r\n+b\r\n>1\r\n$1\r\nx\r\n", 64, false).DecodePush(&p)
	require.NoError(t, err)
	assert.True(t, pushed)
	assert.Equal(t, "x", string(p.Words[0]))
}

// A push contains nothing of the previous push.
func TestDecodePushForgets(t *testing.T) {
	word := strings.Repeat("w", 100<<10) // longer than the buffer
	d := pushDecoder(">4\r\n$1\r\na\r\n$102400\r\n"+word+"\r\n$1\r\nb\r\n$1\r\nc\r\n>1\r\n$1\r\nd\r\n", 32<<10, false)
	var p resp.Push
	for range 2 {
		_, pushed, err := d.DecodePush(&p)
		require.NoError(t, err)
		require.True(t, pushed)
	}
	require.Len(t, p.Words, 1)
	for _, word := range p.Words[1:cap(p.Words)] {
		require.True(t, word == nil, "it is %d bytes long", len(word))
	}
}

func TestDecodePushRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "io",
		">0\r\n":                        "kind",
		">-1\r\n":                       "bad header",
		">9\r\n":                        "limit",
		">1\r\n:1\r\n":                  "not a string",
		">1\r\n$-1\r\n":                 "not a string",
		">2\r\n:1\r\n:2\r\n":            "not a string",
		">2\r\n$-1\r\n:2\r\n":           "not a string",
		">2\r\n$1\r\nab\r\n:2\r\n":      "CRLF",
		">2\r\n$1\r\na\r\n>1\r\n:1\r\n": "push inside",
		">2\r\n$1\r\na\r\n$2\r\na":      "reading",
		">2\r\n$3\r\na":                 "reading",
	} {
		var p resp.Push
		_, _, err := pushDecoder(text, 64, false).DecodePush(&p)
		assert.ErrorContains(t, err, want, "%q", text)
	}
	var p resp.Push
	_, _, err := pushDecoder(">1\r\n:1\r\n", 64, true).DecodePush(&p)
	assertType(t, errs.ErrUnknownHeaderType, err, "RESP2 has no pushes")
}

// FuzzDecodePush compares a push with an array of the same elements that Decode has read, and a
// stream that arrives as a whole with one that arrives in pieces.
func FuzzDecodePush(f *testing.F) {
	f.Add("3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n", uint64(1))
	f.Add("2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", uint64(2))
	f.Add("1\r\n$4\r\npong\r\n", uint64(3))
	f.Add("4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$4\r\nhost\r\n", uint64(4))
	f.Add("3\r\n$7\r\n0000000\r\n!1\r\n0\r\n!2\r\n00\r\n", uint64(69))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		limits := resp.Limits{Line: 300, Bulk: 5000, Elements: 1000, Depth: 10}
		var p, q resp.Push
		d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(">"+text), len(text)+16), limits)
		_, pushed, err := d.DecodePush(&p)
		require.Equal(t, err == nil, pushed)

		rnd := rand.New(rand.NewPCG(seed, 0))
		d2 := resp.NewDecoder(bufio.NewReaderSize(&pieces{">" + text, rnd}, 16+rnd.IntN(400)), limits)
		_, _, err2 := d2.DecodePush(&q)
		require.Equal(t, describeReply(nil, err), describeReply(nil, err2), "%q", text)
		if err != nil {
			return
		}
		require.Equal(t, d.Size(), d2.Size())
		array, err := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader("*"+text), len(text)+16), limits).Decode()
		require.NoError(t, err)
		elements := array.([]any)
		require.LessOrEqual(t, len(p.Words), max(1, len(elements)-1))
		for i, word := range p.Words {
			require.IsType(t, word, elements[i])
			require.Equal(t, string(elements[i].([]byte)), string(word)) // an empty word may be nil
			require.Equal(t, string(word), string(q.Words[i]))
		}
		if len(elements) == 1 {
			require.Nil(t, p.Body)
			require.Nil(t, p.Rest)
			return
		}
		if rest := elements[len(p.Words):]; len(rest) > 1 { // the first of the remaining elements is not a string
			require.Equal(t, describeReply(rest, nil), describeReply(p.Rest, nil))
			require.Nil(t, p.Body)
			return
		}
		switch last := elements[len(p.Words)].(type) {
		case []byte:
			require.Equal(t, last, p.Body)
		default:
			require.Equal(t, describeReply(last, nil), describeReply(p.Rest, nil))
		}
	})
}

// Pushes between replies are reported in order, and do not change the replies.
func TestOnPush(t *testing.T) {
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader(
		">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n:1\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n|1\r\n+k\r\n+v\r\n:2\r\n")), resp.Limits{})
	var told []any
	d.OnPush(func(p *resp.Push) {
		require.Equal(t, "invalidate", string(p.Words[0]))
		told = append(told, p.Rest)
	})
	for want := range int64(2) {
		res, err := d.Decode()
		require.NoError(t, err)
		require.Equal(t, want+1, res)
		require.Len(t, told, int(want)+1)
	}
	require.Equal(t, []any{[]any{[]byte("a"), []byte("b")}, nil}, told)
}
