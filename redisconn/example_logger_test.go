package redisconn_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// metrics is a logger that reports when a connection breaks, and counts requests. The connection
// calls its methods, so they return quickly.
type metrics struct {
	closed                                     chan struct{}
	requests, failed, bytesIn, bytesOut, nanos atomic.Int64
}

// Report is called for each event of the connection.
func (m *metrics) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	switch e := event.(type) {
	case redisconn.LogConnected:
		fmt.Println("connected")
	case redisconn.LogDisconnected:
		log.Printf("%s is disconnected: %v", conn.Addr(), e.Error)
	case redisconn.LogContextClosed:
		close(m.closed)
	}
}

// ReqStat is called for each answered request. It must not keep the request.
func (m *metrics) ReqStat(_ *redisconn.Connection, _ redis.Request, res any, nanos, in, out int64) {
	m.requests.Add(1)
	if redis.AsError(res) != nil {
		m.failed.Add(1)
	}
	m.nanos.Add(nanos)
	m.bytesIn.Add(in)
	m.bytesOut.Add(out)
}

func ExampleLogger() {
	server := exampleServer()
	defer server.Close()
	ctx, m := context.Background(), &metrics{closed: make(chan struct{})}
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: m})
	if err != nil {
		log.Fatal(err)
	}
	client := redis.SyncCtx{S: conn}
	client.Do(ctx, "SET", "key", "value")
	client.Do(ctx, "INCR", "key") // the value is not a number
	conn.Close()
	<-m.closed
	fmt.Println(m.requests.Load(), "requests,", m.failed.Load(), "failed")
	fmt.Println(m.bytesIn.Load(), "bytes in,", m.bytesOut.Load(), "bytes out")
	// Output:
	// connected
	// 2 requests, 1 failed
	// 51 bytes in, 56 bytes out
}
