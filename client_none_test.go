package redispipe_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redismirror"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// If a constructor fails, it returns nil with the error. The methods of such nil senders fail, or do
// nothing.
func TestNoneOpened(t *testing.T) {
	ctx := t.Context()
	for name, s := range map[string]redis.Sender{
		"client": (*redispipe.Client)(nil), "unopened client": &redispipe.Client{}, "cache": (*rediscache.Cache)(nil),
		"mirror": (*redismirror.Mirror)(nil), "connection": (*redisconn.Connection)(nil), "zero connection": new(redisconn.Connection),
		"cluster": (*rediscluster.Cluster)(nil), "zero cluster": new(rediscluster.Cluster), "policy": rediscluster.PolicyMan{},
	} {
		reqs := []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")}
		var errs []error
		failed := redis.FuncFuture(func(res any, n uint64) {
			assert.EqualValues(t, len(errs), n, name)
			errs = append(errs, redis.Err(res))
		})
		s.Send(reqs[0], failed, 0)
		s.SendMany(reqs, failed, 1)
		s.SendTransaction(reqs, failed, 3)
		s.Scanner(redis.ScanOpts{}).Next(redis.FuncFuture(func(res any, _ uint64) { errs = append(errs, redis.Err(res)) }))
		s.EachShard(func(shard redis.Sender, err error) bool {
			assert.Nil(t, shard, name)
			errs = append(errs, redis.Err(err))
			return true
		})
		require.Len(t, errs, 6, name)
		for _, err := range errs {
			require.ErrorContains(t, err, "the sender is nil", name)
			require.ErrorIs(t, err, redis.ErrNotSent, name)
		}
		s.Close()
	}

	var cache *rediscache.Cache
	cache.Invalidate("key")
	cache.InvalidateAll()
	require.Error(t, cache.WithMaxAge(time.Second).DoInto(ctx, new(string), "GET", "key"))
	require.Zero(t, cache.Stats())
	require.NoError(t, cache.Shutdown(ctx))

	var mirror *redismirror.Mirror
	_, err := mirror.Copy(ctx, redis.ScanOpts{})
	require.ErrorContains(t, err, "the sender is nil")
	_, err = mirror.Repair(ctx)
	require.ErrorContains(t, err, "the sender is nil")
	require.ErrorContains(t, mirror.CutOver(ctx, 1), "the sender is nil")
	require.Empty(t, mirror.Findings())
	require.Zero(t, mirror.Stats())

	for _, c := range []*redispipe.Client{nil, {}} {
		subscriber := c.Subscriber()
		require.Zero(t, subscriber.Stats())
		sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
		err := sub.Subscribe(ctx, redispubsub.Channel("news"))
		require.ErrorContains(t, err, "the sender is nil")
		require.ErrorIs(t, err, redis.ErrNotSent)
		require.NoError(t, sub.Unsubscribe(ctx, redispubsub.Channel("news")))
		require.Empty(t, sub.Topics())
		requireClosed(t, sub, nil)
		sub.Close()
		subscriber.Close()
	}
}

// No method of a nil pointer, or of a value that its constructor has not made, panics or hangs. The errors that
// the methods return say that nothing was sent.
func TestEveryMethodOfNone(t *testing.T) {
	calls, failed := 0, 0
	for _, none := range []any{
		(*redispipe.Client)(nil), (*redisconn.Connection)(nil), (*rediscluster.Cluster)(nil), rediscluster.PolicyMan{},
		(*rediscache.Cache)(nil), (*redisfailover.Client)(nil), (*redismirror.Mirror)(nil),
		(*redispubsub.Subscriber)(nil), (*redispubsub.Subscription)(nil),
		(*redis.Session)(nil), (*redis.Tx)(nil), (*redis.Script)(nil), (*redis.Library)(nil), (*redis.Function)(nil),
		(*redis.GroupReader)(nil), (*redis.JobReader)(nil), (*redis.HotKeys)(nil),
		(*redis.ChanFuture)(nil), (*redisconn.PushSocket)(nil), (*redisdumb.Conn)(nil),
	} {
		both := []reflect.Value{reflect.ValueOf(none)}
		if of := both[0].Type(); of.Kind() == reflect.Pointer {
			both = append(both, reflect.New(of.Elem()))
		}
		for _, v := range both {
			for i := range v.NumMethod() {
				for _, filled := range []bool{false, true} {
					name := v.Type().String() + "." + v.Type().Method(i).Name
					require.NotPanics(t, func() {
						for _, err := range errorsOf(v.Method(i).Call(argumentsOf(v.Method(i).Type(), filled))) {
							if !redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed) { // the end of a subscription is not a request, so it has no outcome
								require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%s: %v", name, err)
							}
							failed++
						}
						calls++
					}, name)
				}
			}
		}
	}
	require.Greater(t, calls, 500)
	require.Greater(t, failed, 200)
}

// The methods of a PolicyMan can't be called with a nil pointer, but every function that takes a Sender accepts one, as it
// accepts nil.
func TestFunctionsOfNone(t *testing.T) {
	ctx := t.Context()
	one, many := redis.Req("GET", "key"), []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")}
	errOf := func(_ any, err error) error { return err }
	calls := map[string]func(s redis.Sender) error{
		"Sync":            func(s redis.Sender) error { return redis.Err(redis.Sync{S: s}.Send(one)) },
		"SendMany":        func(s redis.Sender) error { return redis.Err(redis.Sync{S: s}.SendMany(many)[1]) },
		"SendTransaction": func(s redis.Sender) error { return errOf(redis.Sync{S: s}.SendTransaction(many)) },
		"Scanner":         func(s redis.Sender) error { return errOf(redis.Sync{S: s}.Scanner(redis.ScanOpts{}).Next()) },
		"SyncCtx":         func(s redis.Sender) error { return redis.Err(redis.SyncCtx{S: s}.Send(ctx, one)) },
		"ChanFutured":     func(s redis.Sender) error { return redis.Err(redis.ChanFutured{S: s}.Send(one).Value()) },
		"Batch":           func(s redis.Sender) error { return redis.Batch(ctx, s, one) },
		"DoAs":            func(s redis.Sender) error { return errOf(redis.DoAs[string](ctx, s, "GET", "key")) },
		"Load":            func(s redis.Sender) error { return redis.NewScript("return 1").Load(ctx, s) },
		"Script":          func(s redis.Sender) error { return redis.Err(redis.NewScript("return 1").Do(ctx, s, nil)) },
		"OpenSession":     func(s redis.Sender) error { return errOf(redis.OpenSession(ctx, s, "key")) },
		"Watch": func(s redis.Sender) error {
			return errOf(redis.Watch(ctx, s, []string{"key"}, func(*redis.Tx) error { return nil }))
		},
		"Keys": func(s redis.Sender) (err error) {
			for _, err = range redis.Keys(ctx, s, redis.ScanOpts{}) {
			}
			return err
		},
		"Cmd":         func(s redis.Sender) error { return errOf(cmd.Get[string]("key").Do(ctx, s)) },
		"DoEachShard": func(s redis.Sender) error { return redis.Err(rediscluster.DoEachShard(ctx, s, one)[0]) },
		"SendSplit": func(s redis.Sender) error {
			return redis.Err(rediscluster.SendSplit(ctx, s, redis.Req("MGET", "a", "b")))
		},
		"CopyKeys": func(s redis.Sender) error { return redismirror.CopyKeys(ctx, s, s, []string{"key"}) },
	}
	wraps := map[string]func(s redis.Sender) redis.Sender{
		"as it is":   func(s redis.Sender) redis.Sender { return s },
		"WithPrefix": func(s redis.Sender) redis.Sender { return redis.WithPrefix(s, "p:") },
		"WithJoin":   redis.WithJoin,
		"WithRetry":  func(s redis.Sender) redis.Sender { return redis.WithRetry(s, redis.NoRetry) },
		"WithHook":   func(s redis.Sender) redis.Sender { return redis.WithHook(s, nil) },
		"Recorder":   func(s redis.Sender) redis.Sender { return redistest.NewRecorder(s) },
	}
	for _, none := range []redis.Sender{nil, (*rediscluster.PolicyMan)(nil)} {
		for around, wrap := range wraps {
			for name, call := range calls {
				require.NotPanics(t, func() {
					err := call(wrap(none))
					require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%s, %s, %T: %v", name, around, none, err)
				}, "%s, %s, %T", name, around, none)
			}
		}
	}
	for _, none := range []cmd.Caller{nil, (*redis.Sync)(nil)} {
		_, err := cmd.Get[string]("key").DoIn(none)
		require.ErrorContains(t, err, "the sender is nil", "%T", none)
	}
}

// EachShard of a nil function does nothing.
func TestEachShardOfNoFunction(t *testing.T) {
	addr := memserver.New(t).Addr()
	client := open(t, "redis://"+addr)
	cluster, err := rediscluster.NewCluster(t.Context(), []string{addr}, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	require.NoError(t, err)
	defer cluster.Close()
	cache, err := rediscache.New(cluster, rediscache.Opts{})
	require.NoError(t, err)
	defer cache.Close()
	mock := redistest.NewMock(t)
	for _, s := range []redis.Sender{
		client, client.Connection(), cluster, cluster.WithPolicy(rediscluster.PreferSlaves), cache, mock, redistest.NewRecorder(mock),
		redis.WithPrefix(mock, "p:"), redis.WithJoin(mock), redis.WithRetry(mock, redis.NoRetry), &redisdumb.Conn{Addr: addr},
	} {
		require.NotPanics(t, func() { s.EachShard(nil) }, "%T", s)
	}
}

// argumentsOf returns arguments for a function: zero values, apart from contexts, or, if filled is set, values
// that make sense.
func argumentsOf(f reflect.Type, filled bool) (args []reflect.Value) {
	for i := range f.NumIn() {
		in := f.In(i)
		arg := reflect.Zero(in)
		switch {
		case f.IsVariadic() && i == f.NumIn()-1:
			continue
		case in == reflect.TypeFor[context.Context]():
			arg = reflect.ValueOf(context.Background())
		case in.Kind() == reflect.Func && filled:
			arg = reflect.MakeFunc(in, func([]reflect.Value) []reflect.Value { return zeros(in) })
		case !filled:
		case in == reflect.TypeFor[redis.Sender]():
			arg = reflect.ValueOf(new(redisconn.Connection))
		case in == reflect.TypeFor[redis.Future]():
			arg = reflect.ValueOf(redis.FuncFuture(func(any, uint64) {}))
		case in == reflect.TypeFor[redis.Request]():
			arg = reflect.ValueOf(redis.Req("GET", "key"))
		case in == reflect.TypeFor[[]redis.Request]():
			arg = reflect.ValueOf([]redis.Request{redis.Req("GET", "key"), redis.Req("SET", "key", 1)})
		case in.Kind() == reflect.String:
			arg = reflect.ValueOf("GET").Convert(in)
		case in == reflect.TypeFor[any]():
			arg = reflect.ValueOf(new(string))
		}
		args = append(args, arg)
	}
	return args
}

// zeros returns the zero values of a function's results.
func zeros(f reflect.Type) (results []reflect.Value) {
	for i := range f.NumOut() {
		results = append(results, reflect.Zero(f.Out(i)))
	}
	return results
}

// errorsOf returns the errors among the results of a call, including those that a loop or a channel yields.
func errorsOf(results []reflect.Value) (errs []error) {
	add := func(v any) {
		if err, is := v.(error); is {
			errs = append(errs, err)
		}
	}
	for _, v := range results {
		switch res := v.Interface().(type) {
		case []any:
			for _, el := range res {
				add(el)
			}
		case redis.Scanner:
			res.Next(redis.FuncFuture(func(res any, _ uint64) { add(res) }))
		case redis.Request:
			add(redis.AsError(redis.Sync{S: redis.WithHook(nil, nil)}.Send(res)))
		default:
			if v.Kind() == reflect.Func && strings.HasPrefix(v.Type().String(), "iter.Seq2") {
				for _, err := range v.Seq2() {
					add(err.Interface())
				}
				continue
			}
			add(res)
		}
	}
	return errs
}
