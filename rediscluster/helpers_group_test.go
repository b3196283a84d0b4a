package rediscluster_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
)

// patience bounds every wait of these tests. It is long enough for a busy machine.
const patience = time.Minute

// overTilt returns a context that outlasts TILT mode: sentinels that were held up for two seconds name no
// master for the next 30 s.
func overTilt(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	return ctx
}

// patient adds to opts, unless they are set, a logger that logs nothing and a time-out that no healthy
// server exceeds.
func patient(opts rediscluster.Opts) rediscluster.Opts {
	if opts.Logger == nil {
		opts.Logger = rediscluster.NoopLogger{}
	}
	if opts.HostOpts.IOTimeout == 0 {
		opts.HostOpts.IOTimeout = patience
	}
	return opts
}

// startError returns the error of a constructor, and requires its type and text. Some errors are returned
// only when the context ends, so the context is short. If some servers have not answered by then, the
// constructor may return a different error or none; then startError tries again with more time.
func startError(t *testing.T, want *errorx.Type, text string, start func(context.Context) (*rediscluster.Cluster, error)) *errorx.Error {
	t.Helper()
	for within := 500 * time.Millisecond; ; within *= 4 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		c, err := start(ctx)
		cancel()
		if err == nil {
			c.Close()
		}
		failure := redis.AsErrorx(err)
		if within < patience && (failure == nil || !failure.IsOfType(want) || !strings.Contains(failure.Error(), text)) {
			continue
		}
		require.Error(t, err)
		require.True(t, failure.IsOfType(want), "%v", err)
		require.ErrorContains(t, failure, text)
		return failure
	}
}

// infoLine returns the value of a field of INFO, or empty.
func infoLine(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func splitAddr(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}
