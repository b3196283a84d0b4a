package redisconn_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	if err := skipExamples(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
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
	stat     = conntest.Stat
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

// skipExamples skips the examples for which the server lacks something. An example can't skip
// itself.
func skipExamples() error {
	has, err := testbed.Has(testbed.TLS)
	if err != nil || has {
		return err
	}
	const name = "ExampleOpts_tLS"
	fmt.Printf("--- SKIP: %s: the server lacks %v\n", name, testbed.TLS)
	flag.Parse()
	skip := "^" + name + "$"
	if given := flag.Lookup("test.skip").Value.String(); given != "" {
		skip = given + "|" + skip
	}
	return flag.Set("test.skip", skip)
}

// requireNoneLeft requires that all goroutines of connections have ended or end soon.
func requireNoneLeft(t testing.TB) {
	t.Helper()
	require.Empty(t, conntest.GoroutinesLeft())
}

// resources returns the number of goroutines, and the bytes of heap and stacks in use.
func resources() (goroutines, memory int) {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return runtime.NumGoroutine(), int(stats.HeapAlloc + stats.StackInuse)
}
