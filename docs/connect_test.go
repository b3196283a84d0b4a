package docs_test

import (
	"context"
	"log"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// connected starts a server, and connects to it. The caller calls end.
func connected() (conn *redisconn.Connection, end func()) {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err = redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		conn.Close()
		s.Close()
	}
}

// opened is connected, with the wrapper that most programs use.
func opened() (db redis.SyncCtx, end func()) {
	conn, end := connected()
	return redis.SyncCtx{S: conn}, end
}
