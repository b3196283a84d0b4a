package cmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/testbed"
)

type user struct {
	Name string `redis:"name"`
	Age  int    `redis:"age"`
}

func open(t testing.TB) *redispipe.Client {
	client, err := redispipe.Open(t.Context(), "redis://"+testbed.NewServer(t).Addr()+"?read_timeout=60s", redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func TestDo(t *testing.T) {
	ctx, db := t.Context(), open(t)
	name, err := cmd.Get[string]("user:1").Do(ctx, db)
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseNil), "%v", err)
	require.Empty(t, name)
	some, err := cmd.Get[*string]("user:1").Do(ctx, db)
	require.NoError(t, err)
	require.Nil(t, some)

	set := cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX)
	for _, want := range []bool{true, false} { // a command can be sent again
		done, err := set.Do(ctx, db)
		require.NoError(t, err)
		require.Equal(t, want, bool(done))
	}
	ttl, err := cmd.TTL("k").Do(ctx, db)
	require.NoError(t, err)
	require.Equal(t, redis.Seconds(time.Minute), ttl)

	for _, s := range []redis.Sender{db.Connection(), redistest.NewRecorder(db)} {
		n, err := cmd.Incr("n").Do(ctx, s)
		require.NoError(t, err)
		require.Positive(t, n)
	}
	_, err = cmd.Incr("k").Do(ctx, db)
	require.ErrorContains(t, err, "not an integer")
	_, err = cmd.Get[string]("k").Do(nil, db) //nolint:staticcheck // what it says of no context
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil), "%v", err)
}

// A call that can't be sent is refused, and nothing is sent.
func TestRefused(t *testing.T) {
	mock := redistest.NewMock(t)
	for _, do := range []func() error{
		func() error {
			return second(cmd.Set("k", "v", cmd.EX(1500*time.Millisecond), nil).Do(t.Context(), mock))
		},
		func() error { return second(cmd.PExpire("k", time.Microsecond, nil).Do(t.Context(), mock)) },
		func() error { return second(cmd.HSet("k", cmd.Fields(make(chan int))...).Do(t.Context(), mock)) },
		func() error { return redis.Batch(t.Context(), mock, cmd.Incr("n").Into(nil)) },
		func() error { return redis.Batch(t.Context(), mock, redis.Req("INCR", "n").Into(new(chan int))) },
	} {
		require.True(t, redis.AsErrorx(do()).IsOfType(redis.ErrArgumentType), "%v", do())
	}
	require.True(t, redis.AsErrorx(second(cmd.Multi().Do(t.Context(), mock))).IsOfType(redis.ErrCommandForbidden))
}

func second[T any](_ T, err error) error { return err }

func TestBatch(t *testing.T) {
	ctx, db := t.Context(), open(t)
	var a int64
	var u user
	require.NoError(t, redis.Batch(ctx, db, cmd.HSet("u:1", cmd.Fields(user{"Ann", 30})...), redis.Req("SET", "s", "text")))
	require.NoError(t, redis.Batch(ctx, db, cmd.Incr("a").Into(&a), cmd.HGetAll[user]("u:1").Into(&u)))
	require.EqualValues(t, 1, a)
	require.Equal(t, user{"Ann", 30}, u)

	var text string
	err := redis.Batch(ctx, db, cmd.Incr("s").Into(&a), cmd.Get[string]("s").Into(&text), cmd.Decr("s"))
	var failed *redis.BatchError
	require.ErrorAs(t, err, &failed)
	require.Error(t, failed.Errors[0])
	require.NoError(t, failed.Errors[1])
	require.Error(t, failed.Errors[2])
	require.Equal(t, "text", text)
	require.NoError(t, redis.Batch(ctx, db))
}

func TestTransactions(t *testing.T) {
	ctx, db := t.Context(), open(t)
	results, err := db.Watch(ctx, []string{"balance"}, func(tx *redis.Tx) error {
		balance, err := cmd.Get[*int64]("balance").DoIn(tx)
		if err != nil {
			return err
		}
		require.Nil(t, balance)
		tx.Queue(cmd.DecrBy("balance", 30))
		tx.Queue("INCR", "n")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []any{int64(-30), int64(1)}, results)

	for _, queue := range []func(tx *redis.Tx){
		func(tx *redis.Tx) { tx.Queue(3) },
		func(tx *redis.Tx) { tx.Queue(cmd.Incr("n"), "more") },
		func(tx *redis.Tx) { tx.Queue(nil) },
	} {
		_, err = db.Watch(ctx, []string{"balance"}, func(tx *redis.Tx) error {
			queue(tx)
			return nil
		})
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrCommandFormat), "%v", err)
	}
	require.NoError(t, db.Session(ctx, "k", func(s *redis.Session) error {
		_, err := cmd.Select(1).DoIn(s)
		require.NoError(t, err)
		n, err := cmd.DBSize().DoIn(s)
		require.Zero(t, n)
		return err
	}))
}

func TestMock(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect(cmd.Get[string]("k")).Reply("v")
	mock.Expect(cmd.Set("k", 7, cmd.EX(time.Minute), nil)).Reply("OK")
	v, err := cmd.Get[string]("k").Do(t.Context(), mock)
	require.NoError(t, err)
	require.Equal(t, "v", v)
	require.Equal(t, "OK", redis.Sync{S: mock}.Do("SET", "k", "7", "EX", time.Minute))

	require.PanicsWithValue(t, "redistest: cmd_test.go:142: redispipe.request.command_format: neither a command's name nor a command: a int with 0 arguments",
		func() { redistest.NewMock(nil).Expect(3) })
}

func TestString(t *testing.T) {
	require.Equal(t, `Req("SET", 2 args, 1 key, 5 bytes)`, cmd.SetValue("k", "v").String())
}

// If the reply of a command could not be read into T, the command is not sent.
func TestListsAreRefusedBefore(t *testing.T) {
	mock := redistest.NewMock(t)
	for _, err := range []error{
		second(cmd.IncrEx[int64]("k", nil, nil).Do(t.Context(), mock)),
		second(cmd.LMoveM[string]("a", "b", cmd.LEFT, cmd.LEFT).Do(t.Context(), mock)),
		second(cmd.BLMoveM[[]byte]("a", "b", cmd.LEFT, cmd.LEFT, time.Second).Do(t.Context(), mock)),
	} {
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrArgumentType), "%v", err)
		require.ErrorContains(t, err, "the reply is a list")
	}
	mock.Expect("HIMPORT SET", "k", "set", "v").Reply("OK")
	n, err := cmd.HImportSet("k", "set", "v").Do(t.Context(), mock)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
