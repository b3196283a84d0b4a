package redis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/testbed"
)

// tenantBed is a server with the keys of two tenants.
type tenantBed struct {
	*testing.T
	all, one redis.SyncCtx // all sees all keys; one sees only one tenant's, through a prefix
	raw      redis.Sender  // the sender inside all
}

const tenant = "t*1:" // the asterisk is not a pattern

func newTenantBed(t *testing.T, protocol int) *tenantBed {
	raw := connectBy(t, testbed.NewServer(t).Addr(), protocol)
	b := &tenantBed{T: t, raw: raw, all: redis.SyncCtx{S: raw}, one: redis.SyncCtx{S: redis.WithPrefix(raw, tenant)}}
	b.ok(b.all.Do(t.Context(), "MSET", "k", "of another", "ttt1:k", "of a third"))
	return b
}

func (b *tenantBed) ok(res any) any {
	b.Helper()
	require.NoError(b, redis.Err(res))
	return res
}

// owned checks that all keys of the tenant have the prefix, and returns them without it.
func (b *tenantBed) owned() (keys []string) {
	b.Helper()
	all, err := redis.As[[]string](b.all.Do(b.Context(), "KEYS", "*"))
	require.NoError(b, err)
	for _, key := range all {
		own, ok := strings.CutPrefix(key, tenant)
		if !ok {
			require.Contains(b, []string{"k", "ttt1:k"}, key)
			continue
		}
		keys = append(keys, own)
	}
	slices.Sort(keys)
	return keys
}

func unknownKeys(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrKeysUnknown), "%v", err)
	assert.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
}

func TestWithPrefix(t *testing.T) {
	for protocol := 2; protocol <= 3; protocol++ {
		b, ctx := newTenantBed(t, protocol), t.Context()
		assert.Nil(t, b.one.Do(ctx, "GET", "k"))
		b.ok(b.one.Do(ctx, "SET", "k", "mine"))
		var got string
		require.NoError(t, b.one.DoInto(ctx, &got, "GET", "k"))
		assert.Equal(t, "mine", got)
		assert.Equal(t, []byte("mine"), b.one.Do(ctx, "GET k"))
		assert.Equal(t, []byte("mine"), redis.ChanFutured{S: b.one.S}.Send(redis.Req("GET", "k")).Value())
		assert.Equal(t, []any{[]byte("mine"), nil}, b.one.Do(ctx, "MGET", "k", 5))
		assert.Equal(t, []byte("of another"), b.all.Do(ctx, "GET", "k"))

		b.ok(b.one.Do(ctx, "RPUSH", "list", "a", "b", "c", "d"))
		assert.Equal(t, []any{[]byte("list"), []byte("a")}, b.one.Do(ctx, "BLPOP", "none", "list", time.Second))
		assert.Equal(t, []any{[]byte("list"), []any{[]byte("b")}}, b.one.Do(ctx, "LMPOP", 2, "none", "list", "LEFT"))
		b.ok(b.one.Do(ctx, "XADD", "stream", "1-1", "f", "v"))
		streams, err := redis.As[map[string][]redis.Entry[map[string]string]](b.one.Do(ctx, "XREAD", "STREAMS", "stream", "0"))
		require.NoError(t, err)
		assert.Equal(t, "v", streams["stream"][0].Value["f"])
		assert.Equal(t, []byte("list"), b.one.Do(ctx, "EVAL", "redis.call('RPUSH', KEYS[1], 'x') return ARGV[1]", 1, "list", "list"))
		assert.Equal(t, []any{[]byte("k")}, b.one.Do(ctx, "KEYS", "k*"))
		assert.Equal(t, []string{"k", "list", "stream"}, b.owned())
		var found []string
		for key, err := range redis.Keys(ctx, b.one.S, redis.ScanOpts{}) {
			require.NoError(t, err)
			found = append(found, key)
		}
		slices.Sort(found)
		assert.Equal(t, b.owned(), found)
		b.ok(b.one.Do(ctx, "HSET", "hash", "f", "v"))
		for field, err := range redis.Fields[string](ctx, b.one.S, redis.ScanOpts{Key: "hash"}) {
			require.NoError(t, err)
			assert.Equal(t, redis.Field[string]{Name: "f", Value: "v"}, field)
		}
		b.one.S.EachShard(func(s redis.Sender, err error) bool {
			require.NoError(t, err)
			assert.Equal(t, []byte("mine"), redis.Sync{S: s}.Do("GET", "k"))
			return true
		})
	}
}

func TestPrefixRefuses(t *testing.T) {
	b, ctx := newTenantBed(t, 0), t.Context()
	for _, req := range []redis.Request{
		redis.Req("FLUSHALL"), redis.Req("DBSIZE"), redis.Req("RANDOMKEY"), redis.Req("EVAL", "return 1", 0), redis.Req("MODULE.CMD", "k"),
		redis.Req("GET"), redis.Req("DEBUG", "OBJECT", "k"), redis.Req("SORT", "k", "BY", "w_*"),
	} {
		unknownKeys(t, redis.Err(b.one.Send(ctx, req)))
		_, err := b.one.SendTransaction(ctx, []redis.Request{redis.Req("SET", "x", 1), req})
		unknownKeys(t, err)
		results := b.one.SendMany(ctx, []redis.Request{redis.Req("SET", "x", 1), req})
		unknownKeys(t, redis.Err(results[1]))
		assert.True(t, redis.AsErrorx(results[0]).IsOfType(redis.ErrBatchFormat), "%v", results[0])
	}
	err := redis.WithSession(ctx, b.one.S, "", func(s *redis.Session) error {
		unknownKeys(t, redis.Err(s.Do("FLUSHALL")))
		return redis.Err(s.Do("SET", "k", 1))
	})
	require.NoError(t, err)
	for cmd, want := range map[string]error{"SUBSCRIBE": redis.ErrCommandForbidden.New(""), " GET": redis.ErrCommandFormat.New("")} {
		isType(t, want, redis.Err(b.one.Do(ctx, cmd, "k")))
	}
	isType(t, redis.ErrArgumentType.New(""), redis.Err(b.one.Do(ctx, "MGET", struct{}{})))
	foreign := redis.SyncCtx{S: redis.WithPrefix(struct{ redis.Sender }{b.raw}, tenant)}
	err = redis.Err(foreign.Send(ctx, redis.Req("OBJECT ENCODING", []string{"k"})))
	assert.ErrorContains(t, err, "OBJECT ENCODING: Args[0] ")
	assert.Equal(t, "PONG", b.one.Do(ctx, "PING"))
	assert.Equal(t, []string{"k"}, b.owned())
}

// The prefix is removed from the results of each request in a transaction, also in a session.
func TestPrefixInTransactions(t *testing.T) {
	b, ctx := newTenantBed(t, 0), t.Context()
	reqs := []redis.Request{redis.Req("RPUSH", "l", 1, 2), redis.Req("LMPOP", 1, "l", "LEFT"), redis.Req("KEYS", "*"), redis.Req("GET", "none")}
	want := []any{int64(2), []any{[]byte("l"), []any{[]byte("1")}}, []any{[]byte("l")}, nil}
	results, err := b.one.Transact(ctx, reqs)
	require.NoError(t, err)
	assert.Equal(t, want, results)
	b.ok(b.one.Do(ctx, "DEL", "l"))
	assert.Equal(t, want, b.one.SendMany(ctx, reqs))
	err = redis.WithSession(ctx, b.one.S, "", func(s *redis.Session) error {
		b.ok(s.Do("DEL", "l"))
		results, err := s.Transact(reqs)
		assert.Equal(t, want, results)
		b.ok(s.Do("MULTI"))
		assert.Equal(t, "QUEUED", s.Do("KEYS", "*"))
		assert.Equal(t, []any{[]any{[]byte("l")}}, s.Do("EXEC"))
		return err
	})
	require.NoError(t, err)
	_, err = redis.Watch(ctx, b.one.S, []string{"n"}, func(tx *redis.Tx) error {
		tx.Queue("INCR", "n")
		return redis.Err(tx.Do("GET", "n"))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"l", "n"}, b.owned())
}

// Locks, iterators and other features that are built on commands use only keys with the prefix.
func TestPrefixUnderReaders(t *testing.T) {
	b, ctx := newTenantBed(t, 0), t.Context()
	for range 3 {
		b.ok(b.one.Do(ctx, "RPUSH", "jobs", "payload"))
		b.ok(b.one.Do(ctx, "XADD", "events", "*", "f", "v"))
	}
	jobs, err := redis.NewJobReader(b.one.S, redis.JobOpts{Queue: "jobs", Ack: true})
	require.NoError(t, err)
	n := 0
	for job, err := range jobs.Jobs(ctx) {
		require.NoError(t, err)
		assert.Equal(t, "payload", string(job.Payload))
		jobs.Ack(job)
		if n++; n == 3 {
			break
		}
	}
	group, err := redis.NewGroupReader(b.one.S, redis.GroupOpts{Stream: "events", Group: "g", Consumer: "c"})
	require.NoError(t, err)
	for msg, err := range group.Messages(ctx) {
		require.NoError(t, err)
		require.NoError(t, group.Ack(msg.ID))
		if n++; n == 6 {
			break
		}
	}
	assert.Equal(t, int64(1), redis.NewScript(push).Do(ctx, b.one.S, []string{"scripted"}, "x"))
	assert.Equal(t, int64(2), redis.Sync{S: redis.WithScripts(b.one.S, redis.NewScript(push))}.Send(redis.NewScript(push).Request([]string{"scripted"}, "x")))
	assert.Subset(t, b.owned(), []string{"events", "scripted"})
}

// Hooks and retries are around the prefix, so hooks get the callers' contexts, and keys without the
// prefix.
func TestPrefixAroundHooks(t *testing.T) {
	b := newTenantBed(t, 0)
	type mark struct{}
	ctx := context.WithValue(t.Context(), mark{}, true)
	seen := 0
	s := redis.WithPrefix(redis.WithRetry(redis.WithHook(b.raw, hookFunc(func(ctx context.Context, op redis.Operation, end redis.Completion) {
		seen++
		assert.Equal(t, "KEYS", op.Command)
		assert.Equal(t, true, ctx.Value(mark{}))
		assert.Equal(t, []any{[]byte("k")}, end.Result)
	})), redis.RetryOpts{}), tenant)
	b.ok(b.one.Do(ctx, "SET", "k", 1))
	assert.Equal(t, []any{[]byte("k")}, redis.SyncCtx{S: s}.Do(ctx, "KEYS", "*"))
	assert.Equal(t, 1, seen)

	both := redis.WithPrefix(redis.WithPrefix(b.raw, tenant), "[in]:")
	b.ok(redis.SyncCtx{S: both}.Do(ctx, "SET", "x", 1))
	assert.Equal(t, []any{[]byte("x")}, redis.SyncCtx{S: both}.Do(ctx, "KEYS", "*"))
	assert.Equal(t, []string{"[in]:x", "k"}, b.owned())
}

// hookFunc is a hook that is called after operations.
type hookFunc func(ctx context.Context, op redis.Operation, end redis.Completion)

func (hookFunc) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (f hookFunc) After(ctx context.Context, op redis.Operation, end redis.Completion) {
	f(ctx, op, end)
}

// WithPrefix sends plain requests to a user's Sender.
func TestPrefixOfForeignSender(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("BLPOP", "t1:a", "t1:b", 1).Reply([]any{[]byte("t1:b"), []byte("x")})
	mock.Expect("SETEX", "t1:k", 60, "v").Reply("OK")
	mock.ExpectScan(redis.ScanOpts{Match: "t1:a*"}, []string{"t1:a1", "t1:a2"})
	s := redis.SyncCtx{S: redis.WithPrefix(mock, "t1:")}
	assert.Equal(t, []any{[]byte("b"), []byte("x")}, s.Do(t.Context(), "BLPOP", "a", "b", time.Second))
	assert.Equal(t, "OK", s.Do(t.Context(), "SETEX k", time.Minute, "v"))
	keys, err := s.Scanner(t.Context(), redis.ScanOpts{Match: "a*"}).Next()
	require.NoError(t, err)
	assert.Equal(t, []string{"a1", "a2"}, keys)
	unknownKeys(t, redis.Err(s.Do(t.Context(), "FLUSHALL")))
	assert.ErrorContains(t, redis.WithSession(t.Context(), s.S, "", func(*redis.Session) error { return errors.New("opened") }), "has no sessions")
	_, err = redis.SyncCtx{S: redis.WithPrefix(nil, "t1:")}.Scanner(t.Context(), redis.ScanOpts{}).Next()
	assert.ErrorContains(t, err, "the sender is nil")
}
