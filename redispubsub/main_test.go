package redispubsub_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	code := m.Run()
	if left := goroutinesLeft(); code == 0 && left != nil {
		fmt.Printf("goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutinesLeft waits until no goroutine of the library is left, and returns the stack
// of one that stays.
func goroutinesLeft() (left []byte) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		all := make([]byte, 16<<20)
		all = all[:runtime.Stack(all, true)]
		left = nil
		for _, stack := range bytes.Split(all, []byte("\n\n")) {
			if bytes.Contains(stack, []byte("redispipe/redispubsub.")) || bytes.Contains(stack, []byte("redispipe/redisconn.")) {
				left = stack
			}
		}
		if left == nil {
			return nil
		}
	}
	return left
}
