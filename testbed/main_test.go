package testbed

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("TESTBED_HELPER"); mode != "" {
		helperMain(mode)
	}
	RequireRedis()
	os.Exit(m.Run())
}
