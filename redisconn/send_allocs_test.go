//go:build !race

package redisconn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// The number of allocations of a request, which the README lists, does not depend on the machine.
// The race detector empties pools, so this test does not run with it.
func TestAllocations(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	value := strings.Repeat("v", 16)
	body := make([]byte, 0, 64)
	var number int64
	var popped [][]byte
	for name, c := range map[string]struct {
		most float64
		do   func() error
	}{
		"SET":            {0, func() error { return redis.AsError(sync.Do("SET", "key", value)) }},
		"GET":            {2, func() error { return redis.AsError(sync.Do("GET", "key")) }},
		"GET into bytes": {0, func() error { return sync.DoInto(&body, "GET", "key") }},
		"BLPOP into bytes": {27, func() error {
			if err := redis.AsError(sync.Do("RPUSH", "list", value)); err != nil {
				return err
			}
			return sync.DoInto(&popped, "BLPOP", "list", 1)
		}},
		"INCR into int": {0, func() error { return sync.DoInto(&number, "INCR", "number") }},
	} {
		require.NoError(t, c.do())
		got := testing.AllocsPerRun(1000, func() {
			if err := c.do(); err != nil {
				t.Error(err)
			}
		})
		require.LessOrEqual(t, got, c.most, name)
	}
}
