package redis

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/internal/send"
)

// In these tests exactly one of 64 requests of a batch is counted. Rate, which is per second, is 64
// times the number of counted requests.

// keysOf returns, by key, the number of requests that were counted.
func keysOf(h *HotKeys) map[string]float64 {
	counted := map[string]float64{}
	for _, k := range h.Top(100) {
		counted[k.Key] = k.Rate / 64
	}
	return counted
}

// All keys of a request count, no matter where they stand in the request.
func TestHotKeysOfRequests(t *testing.T) {
	long := strings.Repeat("k", 5000)
	for _, tt := range []struct {
		req  Request
		want []string
	}{
		{Req("GET", "k"), []string{"k"}},
		{Req("get k"), []string{"k"}},
		{Req("GET", 7), []string{"7"}},
		{Req("GET", []byte("k")), []string{"k"}},
		{Req("GET", long), []string{long[:1024]}},
		{Req("MGET", "a", "b"), []string{"a", "b"}},
		{Req("MSET", "a", "b", "c", "d"), []string{"a", "c"}},
		{Req("EVAL", "return 1", 2, "a", "b", "c"), []string{"a", "b"}},
		{Req("XREAD", "COUNT", 1, "STREAMS", "a", "b", "0", "0"), []string{"a", "b"}},
		{Req("SORT", "a", "STORE", "b"), []string{"a", "b"}},
		{Req("OBJECT ENCODING", "k"), []string{"k"}},
		{Req("ZUNIONSTORE", "dst", 2, "a", "b"), []string{"a", "b", "dst"}},
		{Req("PING"), nil},
		{Req("CONFIG GET", "k"), nil},
		{Req("SOME.COMMAND", "k"), []string{"k"}},
		{Req("GET"), nil},
		{Req("GET", struct{}{}), nil},
		{Req(""), nil},
	} {
		virtualtime.Run(t, func(t *testing.T) {
			s, hot := WithHotKeys(newHeldReads(), HotKeysOpts{})
			s.SendMany(slices.Repeat([]Request{tt.req}, 64), FuncFuture(func(any, uint64) {}), 7)
			counted := keysOf(hot)
			assert.Len(t, counted, len(tt.want), "%v", tt.req.Cmd)
			for _, key := range tt.want {
				assert.Equal(t, 1.0, counted[key], "%v", tt.req.Cmd)
			}
		})
	}
}

// Requests count no matter how they are sent, with their bytes and the bytes of their replies.
func TestHotKeysOfEveryWay(t *testing.T) {
	many := slices.Repeat([]Request{Req("GET", "k")}, 64)
	request := len("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
	for name, tt := range map[string]struct {
		send func(s Sender)
		once bool // sends a single request, so the test repeats it until it is counted
	}{
		"Do":       {func(s Sender) { Sync{s}.Do("GET", "k") }, true},
		"DoInto":   {func(s Sender) { _, _ = DoAs[string](context.Background(), s, "GET", "k") }, true},
		"Send":     {func(s Sender) { s.Send(Req("GET", "k"), nil, 0) }, true},
		"SendMany": {func(s Sender) { s.SendMany(many, nil, 9) }, false},
		"waiting":  {func(s Sender) { Sync{s}.SendMany(many) }, false},
		"transaction": {func(s Sender) {
			_, err := Sync{s}.SendTransaction(many)
			assert.NoError(t, err)
		}, false},
		"shards": {func(s Sender) { s.EachShard(func(s Sender, _ error) bool { s.SendMany(many, nil, 9); return true }) }, false},
		"session": {func(s Sender) {
			assert.NoError(t, WithSession(context.Background(), s, "", func(s *Session) error { return FirstError(s.SendMany(many)) }))
		}, false},
	} {
		for _, kind := range []string{"own", "foreign"} {
			if kind == "foreign" && name == "session" {
				continue
			}
			virtualtime.Run(t, func(t *testing.T) {
				var inner Sender = &textSender{answering("$2\r\nxx\r\n", Limits{})}
				if kind == "foreign" {
					inner = struct{ Sender }{inner} // hides the methods of a backend
				}
				s, hot := WithHotKeys(inner, HotKeysOpts{})
				for tt.send(s); tt.once && len(hot.Top(1)) == 0; {
					tt.send(s)
				}
				assert.Equal(t, []HotKey{{Key: "k", Share: 1, Rate: 64}}, hot.Top(10), name)
				bytes := hot.TopBytes(10)
				require.Len(t, bytes, 1, name)
				assert.InDelta(t, request+len("$2\r\nxx\r\n"), bytes[0].Rate/64, 5, name) // the size of replies is estimated
				assert.True(t, bytes[0].Bytes)
			})
		}
	}
}

// textSender is a sender that answers each request with the text xx.
type textSender struct{ *ownSender }

func (r *textSender) Send(_ Request, cb Future, n uint64) { send.Resolve(cb, []byte("xx"), n) }

func (r *textSender) SendMany(reqs []Request, cb Future, start uint64) {
	for i := range reqs {
		r.Send(reqs[i], cb, start+uint64(i))
	}
}

func (r *textSender) SendTransaction(reqs []Request, cb Future, start uint64) {
	send.Resolve(cb, slices.Repeat([]any{[]byte("xx")}, len(reqs)), start)
}

func (r *textSender) EachShard(f func(Sender, error) bool) { f(r, nil) }

func (r *textSender) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return okConn{}, nil
}

// Requests that were not sent, and reads that a cache answered, do not count.
func TestHotKeysOfServersOnly(t *testing.T) {
	own := newHeldReads()
	s, hot := WithHotKeys(own, HotKeysOpts{})
	for _, answer := range []func(cb Future){
		func(cb Future) { cb.Resolve(errs.ErrRequestWithdrawn.New("x"), 0) },
		func(cb Future) {
			send.AnsweredBy(cb, send.Server{Cached: true})
			cb.Resolve([]byte("v"), 0)
		},
	} {
		own.encoded = func(r *send.Request, cb Future, _ uint64) { answer(cb) }
		for range 64 * 20 {
			Sync{s}.Do("GET", "k")
		}
	}
	assert.Empty(t, hot.Top(1))
	own.encoded = func(_ *send.Request, cb Future, _ uint64) { cb.Resolve(errs.ErrIO.New("x"), 0) }
	for len(hot.Top(1)) == 0 { // counts, because it may have run
		Sync{s}.Do("GET", "k")
	}
}

// OnHot is called for a key that becomes hot, and may panic, block or call HotKeys.
func TestOnHot(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var mu sync.Mutex // guards told
		var told []HotKey
		s, _ := WithHotKeys(&textSender{answering("", Limits{})}, HotKeysOpts{Share: 0.3, OnHot: func(k HotKey) {
			mu.Lock()
			told = append(told, k)
			mu.Unlock()
			panic("on purpose")
		}})
		for range 255 {
			s.SendMany(slices.Repeat([]Request{Req("GET", "k")}, 64), nil, 0)
		}
		synctest.Wait()
		require.Empty(t, told)
		s.SendMany(slices.Repeat([]Request{Req("GET", "k")}, 64), nil, 0)
		synctest.Wait()
		require.Len(t, told, 2)
		assert.NotEqual(t, told[0].Bytes, told[1].Bytes)
		assert.Equal(t, "k", told[0].Key)
		assert.Equal(t, 1.0, told[0].Share)
	})
}

// If the future of a batch adds the requests to errors itself, the wrapping future tells the sender
// so.
func TestHotKeysOfNamers(t *testing.T) {
	own := &textSender{answering("", Limits{})}
	names := false
	s, _ := WithHotKeys(manyTo{own, func(cb Future) { _, names = cb.(send.Namer) }}, HotKeysOpts{})
	s.SendMany(make([]Request, 64), &manyWaiter{}, 0)
	assert.True(t, names)
	s.SendMany(make([]Request, 64), FuncFuture(nil), 0)
	assert.False(t, names)
}

// manyTo is a Sender that passes the futures of batches to a function.
type manyTo struct {
	Sender
	many func(cb Future)
}

func (m manyTo) SendMany(_ []Request, cb Future, _ uint64) { m.many(cb) }
