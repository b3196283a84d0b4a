package redisconn

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		in, want Opts // only their durations count
	}{
		"zero": {Opts{}, Opts{
			IOTimeout: time.Second, DialTimeout: time.Second, ReconnectPause: 500 * ms,
			ReconnectPauseMax: 500 * ms, TCPKeepAlive: time.Second / 3,
		}},
		"IOTimeout": {Opts{IOTimeout: 300 * ms}, Opts{
			IOTimeout: 300 * ms, DialTimeout: 300 * ms, ReconnectPause: 500 * ms, ReconnectPauseMax: 500 * ms, TCPKeepAlive: 100 * ms,
		}},
		"no IOTimeout": {Opts{IOTimeout: -1}, Opts{
			IOTimeout: -1, DialTimeout: 5 * time.Second, ReconnectPause: 500 * ms, ReconnectPauseMax: 500 * ms,
		}},
		"smaller DialTimeout": {Opts{DialTimeout: 100 * ms}, Opts{
			IOTimeout: time.Second, DialTimeout: 100 * ms, ReconnectPause: 200 * ms, ReconnectPauseMax: 200 * ms, TCPKeepAlive: time.Second / 3,
		}},
		"larger DialTimeout": {Opts{DialTimeout: time.Hour}, Opts{
			IOTimeout: time.Second, DialTimeout: time.Hour, ReconnectPause: 500 * ms, ReconnectPauseMax: 500 * ms, TCPKeepAlive: time.Second / 3,
		}},
		"negative": {Opts{ReconnectPause: -1, TCPKeepAlive: -1}, Opts{
			IOTimeout: time.Second, DialTimeout: time.Second, ReconnectPause: -1, ReconnectPauseMax: -1, TCPKeepAlive: -1,
		}},
	} {
		got := c.in.withDefaults()
		want := c.want
		want.Logger, want.MaxRequests, want.MaxBytes, want.DedicatedConns = DefaultLogger{}, defaultMaxRequests, defaultMaxBytes, defaultDedicated
		got.Dialer, want.Dialer = nil, nil
		require.Equal(t, want, got, name)
	}
}

// Applied to its own result, withDefaults changes nothing.
func TestDefaultsTwice(t *testing.T) {
	once := Opts{IOTimeout: 300 * time.Millisecond, MaxRequests: 5, MaxBytes: 6, Logger: NoopLogger{}}.withDefaults()
	require.Equal(t, once, once.withDefaults())
	require.Equal(t, 5, once.MaxRequests)
	require.Equal(t, 6, once.MaxBytes)
}

func TestCorrections(t *testing.T) {
	for _, good := range []Opts{
		{},
		{IOTimeout: -1, DialTimeout: time.Hour, ReconnectPause: -1, TCPKeepAlive: -1, WritePause: -1},
		{DialTimeout: time.Minute, ReconnectPause: time.Minute, ReconnectPauseMax: time.Second, MaxRequests: 1, Integrity: true},
	} {
		require.Empty(t, corrections(good, good.withDefaults()))
	}
	given := Opts{DialTimeout: -1, ReconnectPauseMax: -1, MaxRequests: -2, MaxBytes: -3, ScriptMode: true, Integrity: true}
	require.Equal(t, []LogOptCorrected{
		{"DialTimeout", time.Duration(-1), defaultIOTimeout},
		{"ReconnectPauseMax", time.Duration(-1), defaultLongestPause},
		{"MaxRequests", -2, defaultMaxRequests},
		{"MaxBytes", -3, defaultMaxBytes},
		{"Integrity", true, false},
	}, corrections(given, given.withDefaults()))
}

func TestOptsHideThePassword(t *testing.T) {
	o := Opts{Username: "me", Password: "canary"}
	conn := &Connection{opts: o}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, v := range []any{o, &o, struct{ Host Opts }{o}, conn} {
			require.NotContains(t, fmt.Sprintf(format, v), "canary", "%s of %T", format, v)
		}
		require.NotContains(t, fmt.Sprintf(format, o), "63616e617279", "%s: the password in hexadecimal", format)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "opts", o, "at", &o)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "opts", o, "at", &o)
	require.NotContains(t, log.String(), "canary")
}
