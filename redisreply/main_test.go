package redisreply_test

import (
	"os"
	"testing"

	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	os.Exit(m.Run())
}
