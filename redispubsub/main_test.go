package redispubsub_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	code := m.Run()
	if left := conntest.GoroutinesLeft(); code == 0 && left != "" {
		fmt.Printf("goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}
