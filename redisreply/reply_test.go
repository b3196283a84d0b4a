package redisreply_test

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

// readAll reads a result into each of the types, and returns the errors.
func readAll(res any) (errs []error) {
	add := func(_ any, err error) { errs = append(errs, err) }
	add(redis.As[redisreply.Point](res))
	add(redis.As[redisreply.Place](res))
	add(redis.As[redisreply.PendingSummary](res))
	add(redis.As[redisreply.PendingEntry](res))
	add(redis.As[redisreply.Stream](res))
	add(redis.As[redisreply.Group](res))
	add(redis.As[redisreply.Consumer](res))
	add(redis.As[redisreply.Info](res))
	add(redis.As[redisreply.Clients](res))
	add(redis.As[redisreply.SlowCommand](res))
	add(redis.As[redisreply.Command](res))
	add(redis.As[redisreply.Denial](res))
	add(redis.As[redisreply.User](res))
	add(redis.As[redisreply.Role](res))
	add(redis.As[redisreply.Replica](res))
	add(redis.As[redisreply.LoggedCommand](res))
	add(redis.As[redisreply.Link](res))
	add(redis.As[redisreply.SlotStats](res))
	add(redis.As[[]*redisreply.Point](res))
	add(redis.As[[]redisreply.Place](res))
	add(redis.As[[]redisreply.Command](res))
	return errs
}

// A reply of an unexpected shape is an error of this library.
func TestHostileReplies(t *testing.T) {
	list := func(els ...any) []any { return els }
	nested := any("deep")
	for range 10_000 {
		nested = []any{nested}
	}
	for _, res := range []any{int64(3), list(list()), list(nil, nil, nil), list(list(list("a"))), list("get", 2, 3), nested} {
		failed := 0
		for _, err := range readAll(res) {
			if err != nil {
				failed++
				require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected) || redis.AsErrorx(err).IsOfType(redis.ErrResponseNil), "%v", err)
			}
		}
		require.Greater(t, failed, 7, "%v of %T", failed, res)
	}
	for _, err := range readAll(nil)[:18] {
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseNil), "%v", err)
	}
	for _, err := range readAll(redis.ErrLoading.New("LOADING")) {
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrLoading), "%v", err)
	}

	// After an error the earlier content is unchanged.
	place := redisreply.Place{Name: "old"}
	require.Error(t, place.UnmarshalRedis(list("new", list("x", "y"))))
	require.Equal(t, redisreply.Place{Name: "old"}, place)
}

// Replies of older and newer servers can be read, too.
func TestOtherVersions(t *testing.T) {
	slow, err := redis.As[redisreply.SlowCommand]([]any{int64(1), int64(1700000000), int64(12), []any{[]byte("GET")}})
	require.NoError(t, err)
	require.Equal(t, redisreply.SlowCommand{ID: 1, Time: time.Unix(1700000000, 0).UTC(), Took: 12 * time.Microsecond, Args: []string{"GET"}}, slow)
	slow, err = redis.As[redisreply.SlowCommand]([]any{int64(1), int64(1), int64(1), []any{}, "addr", "name", "new", int64(7)})
	require.NoError(t, err)
	require.Equal(t, "name", slow.Name)

	clients, err := redis.As[redisreply.Clients]("id=1 addr=/run/my redis.sock:0 age=3 idle=1 db=2 fresh=1 name=\n")
	require.NoError(t, err)
	require.Equal(t, redisreply.Clients{{ID: 1, Addr: "/run/my redis.sock:0", Age: 3 * time.Second, Idle: time.Second, DB: 2}}, clients)

	info, err := redis.As[redisreply.Info]("odd:1\r\n# Server\r\nversion:7:1\r\nno colon\r\n\r\n# Empty\r\n")
	require.NoError(t, err)
	require.Equal(t, redisreply.Info{"": {"odd": "1"}, "server": {"version": "7:1"}}, info)

	command, err := redis.As[redisreply.Command]([]any{
		"config", int64(-2), []any{}, int64(0), int64(0), int64(0), []any{}, []any{}, []any{},
		[]any{[]any{"config|get", int64(-3), []any{"admin"}, int64(0), int64(0), int64(0)}},
	})
	require.NoError(t, err)
	require.Equal(t, "config|get", command.Subcommands[0].Name)
}

// FuzzReplies checks that no reply makes any type panic.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"*2\r\n$1\r\n1\r\n$1\r\n2\r\n", "*4\r\n:1\r\n$3\r\n1-0\r\n$3\r\n1-0\r\n*1\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n",
		"$20\r\n# A\r\nb:c\r\nid=1 age=3\r\n\r\n", "%1\r\n+length\r\n:1\r\n", "*1\r\n*3\r\n+get\r\n:2\r\n~1\r\n+fast\r\n", "*-1\r\n", "_\r\n",
		"*6\r\n:1\r\n:1\r\n:1\r\n*1\r\n+GET\r\n+a\r\n+b\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		res, err := redis.NewDecoder(bufio.NewReader(bytes.NewReader(reply)), redis.Limits{Bulk: 1 << 16, Elements: 1 << 12}).Decode()
		if err != nil {
			return
		}
		for _, err := range readAll(res) {
			if err != nil {
				require.NotNil(t, redis.AsErrorx(err))
			}
		}
	})
}
