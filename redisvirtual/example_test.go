package redisvirtual_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// A program writes requests to a virtual connection, and reads the replies from it. They go over the shared
// connection.
func ExampleConn() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	shared, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()

	conn := redisvirtual.Conn(shared)
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "SET greeting hello\r\nGET greeting\r\n"); err != nil {
		fmt.Println(err)
		return
	}
	replies := bufio.NewScanner(conn)
	for range 3 {
		replies.Scan()
		fmt.Println(replies.Text())
	}
	// Output:
	// +OK
	// $5
	// hello
}
