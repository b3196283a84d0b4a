package redisconn_test

import (
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

var connect = conntest.Connect

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
