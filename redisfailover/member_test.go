package redisfailover

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// Open returns an error for a Sender that is a nil pointer, for the same Sender twice, and for members that
// break another rule of Member.
func TestMembersOf(t *testing.T) {
	a := redistest.NewMock(t)
	for word, members := range map[string][]Member{
		"no members":                         nil,
		"member 1 needs a URL or a Sender":   {{}},
		"b needs a URL or a Sender, and not": {{Sender: a}, {Name: "b", URL: "redis://h", Sender: a}},
		`two members have the name "x"`:      {{Name: "x", Sender: a}, {Name: "x", Sender: redistest.NewMock(t)}},
		"x and member 2 have the same":       {{Name: "x", Sender: a}, {Sender: redis.WithRetry(a, redis.RetryOpts{})}},
		"is a nil *redistest.Mock":           {{Sender: (*redistest.Mock)(nil)}},
		"is a nil *redisconn.Connection":     {{Sender: a}, {Sender: (*redisconn.Connection)(nil)}},
		"is a nil *redispipe.Client":         {{Sender: (*redispipe.Client)(nil)}},
	} {
		_, err := Open(t.Context(), members, Opts{Probe: well, Logger: NoopLogger{}})
		require.True(t, redis.AsErrorx(err).IsOfType(ErrMembers), "%v", err)
		require.ErrorContains(t, err, word)
	}
	_, err := Open(t.Context(), []Member{{URL: "mailto:secret@example"}}, Opts{})
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
	require.NotContains(t, err.Error(), "secret")
	_, err = Open(nil, []Member{{Sender: a}}, Opts{}) //nolint:staticcheck // the test needs a nil context
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil), "%v", err)
}

// The logger gets members that can't be opened, or do not answer the first probe, and later that they are up.
// If no member can be opened, the error names each of them. SwitchTo to a member that is down says why it is
// down.
func TestMembersThatAreDown(t *testing.T) {
	server, err := memserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.Miniredis().RequireAuth("secret")
	events := make(chan LogEvent, 10)
	fails := errors.New("the probe has failed")
	opts := Opts{Patience: time.Hour, Logger: reports(func(_ *Client, event LogEvent) { events <- event })}
	near := Member{Name: "near", URL: "redis://" + server.Addr(), Weight: 1, Options: []redispipe.Option{redispipe.Logger(nil)}}

	_, err = Open(t.Context(), []Member{near, {Name: "far", URL: "redis://:wrong@" + server.Addr(), Options: near.Options}}, opts)
	require.True(t, redis.AsErrorx(err).IsOfType(redisconn.ErrAuth), "%v", err)
	require.ErrorContains(t, err, "near: ")
	require.ErrorContains(t, err, "far: ")
	_, err = Open(t.Context(), []Member{near, {Name: "far", URL: "mailto:x"}}, opts)
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
	require.ErrorContains(t, err, "far: ")
	require.Empty(t, events)

	bad := redistest.NewMock(t)
	opts.Probe = func(_ context.Context, s redis.Sender) error {
		if s == redis.Sender(bad) {
			return fails
		}
		return nil
	}
	db, err := Open(t.Context(), []Member{near, {Name: "far", Sender: redistest.NewMock(t)}, {Name: "bad", Sender: bad}}, opts)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	down := (<-events).(LogDown)
	require.Equal(t, "near", down.Member)
	require.True(t, redis.AsErrorx(down.Error).IsOfType(redisconn.ErrAuth), "%v", down.Error)
	require.Equal(t, LogDown{Member: "bad", Error: fails}, <-events)
	require.Empty(t, events)
	err = db.SwitchTo("bad")
	require.True(t, redis.AsErrorx(err).IsOfType(ErrMembers), "%v", err)
	require.ErrorIs(t, err, fails)
	require.ErrorContains(t, err, "bad is down")
	require.ErrorContains(t, err, fails.Error())
}

// If Open could not open a member, the client opens it later, and reports that.
func TestMemberIsOpenedLater(t *testing.T) {
	server, err := memserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.Miniredis().RequireAuth("secret")
	events := make(chan LogEvent, 1000)
	db, err := Open(t.Context(), []Member{
		{Name: "near", URL: "redis://" + server.Addr(), Weight: 1, Options: []redispipe.Option{redispipe.Logger(nil)}},
		{Name: "far", Sender: redistest.NewMock(t)},
	}, Opts{Probe: well, Patience: 200 * time.Millisecond, Failback: -1, Logger: reports(func(_ *Client, event LogEvent) { events <- event })})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.Equal(t, "near", (<-events).(LogDown).Member)
	server.Miniredis().RequireAuth("")
	for event := range events {
		if event == (LogUp{Member: "near"}) {
			break
		}
	}
	require.NotNil(t, db.Members()[0].Sender)
}
