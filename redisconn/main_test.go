package redisconn_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	if err := skipExamples(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	if left := goroutinesLeft(); code == 0 && left != nil {
		fmt.Printf("goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// skipExamples skips the examples that need what the server lacks, since an
// example can't do so itself.
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

// requireNoneLeft requires that all goroutines of the package's connections end.
func requireNoneLeft(t testing.TB) {
	t.Helper()
	require.Empty(t, string(goroutinesLeft()))
}

// goroutinesLeft waits until no goroutine of the package is left, and returns
// the stack of one that stays.
func goroutinesLeft() (left []byte) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		all := make([]byte, 16<<20)
		all = all[:runtime.Stack(all, true)]
		left = nil
		for _, stack := range bytes.Split(all, []byte("\n\n")) {
			if bytes.Contains(stack, []byte("redispipe/redisconn.")) ||
				bytes.Contains(stack, []byte("redispipe/internal/")) && !bytes.Contains(stack, []byte("redispipe/redistest/chaos.")) {
				left = stack
			}
		}
		if left == nil {
			return nil
		}
	}
	return left
}

// resources counts goroutines and the bytes of heap and stacks in use.
func resources() (goroutines, memory int) {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return runtime.NumGoroutine(), int(stats.HeapAlloc + stats.StackInuse)
}
