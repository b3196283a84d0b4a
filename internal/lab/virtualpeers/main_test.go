package virtualpeers

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

var server *testbed.Server

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	var err error
	if server, err = testbed.Start(testbed.Options{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}

var connect = conntest.Connect

// guest returns a go-redis client over a connection.
func guest(t testing.TB, conn *redisconn.Connection, change ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: conn.Addr(), Dialer: redisvirtual.Dialer(conn), ReadTimeout: time.Minute, PoolSize: 1000}
	for _, f := range change {
		f(o)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
