package engine_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
	"github.com/joomcode/redispipe/testbed"
)

// Tests of package engine_test show the engine through a Connection, and those of package engine
// from within.

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	code := m.Run()
	if left := conntest.GoroutinesLeft(); code == 0 && left != "" {
		fmt.Printf("goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// Helpers of conntest, by shorter names.
type (
	outcome  = conntest.Outcome
	recorder = conntest.Recorder
	pipes    = conntest.Pipes
)

const patience = conntest.Patience

var (
	background     = context.Background()
	connect        = conntest.Connect
	connectPipes   = conntest.ConnectPipes
	eventually     = conntest.Eventually
	newOutcome     = conntest.NewOutcome
	newOutcomes    = conntest.NewOutcomes
	pong           = conntest.Pong
	bulk           = conntest.Bulk
	sendTo         = conntest.SendTo
	requireType    = conntest.RequireType
	requireNotSent = conntest.RequireNotSent
	requireUnknown = conntest.RequireUnknown
)

// lone returns a connection on which the next caller reads its own reply.
func lone(t *testing.T, addr string, opts redisconn.Opts) *redisconn.Connection {
	conn := connect(t, addr, opts)
	for range 10 {
		require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("GET", "key")))
	}
	return conn
}

// readerRests calls ReaderRests of the connection's pipe.
func readerRests(conn *redisconn.Connection) bool {
	pipe := reflect.ValueOf(conn).Elem().FieldByName("pipe").UnsafePointer()
	return (*engine.Pipe)(pipe).ReaderRests()
}

// requireNoneLeft requires that all goroutines of connections have ended or end soon.
func requireNoneLeft(t testing.TB) {
	t.Helper()
	require.Empty(t, conntest.GoroutinesLeft())
}
