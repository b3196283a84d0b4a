package chaos_test

import (
	"fmt"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// The connection breaks after the server has executed a request and before the reply, so the client
// can't know whether the increment happened.
func ExampleProxy() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()
	fault := proxy.Arm(chaos.Fault{
		Do: chaos.Reset,
		On: chaos.Replies,
		At: chaos.AtRequestID("visits"),
	})

	client := &redisdumb.Conn{Addr: proxy.Addr(), Timeout: time.Minute}
	defer client.Close()
	res := client.Do("INCR", "visits")
	fmt.Println("failed:", redis.AsError(res) != nil, "faults:", fault.Fired())

	proxy.Close() // the log may lag behind until then
	request := proxy.Log()[0]
	fmt.Println(request.Args(), "executed:", request.Delivered, "answered:", request.Replied)
	// Output:
	// failed: true faults: 1
	// [INCR visits] executed: true answered: false
}

// A server that announces more than it sends.
func ExampleScriptedServer() {
	server, err := chaos.ListenScripted(chaos.ScriptedOpts{
		Handler: chaos.ScriptedThenClose("$1000000\r\nonly this"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client := &redisdumb.Conn{Addr: server.Addr(), Timeout: time.Minute}
	defer client.Close()
	fmt.Println("pong:", client.Do("PING"))
	fmt.Println("failed:", redis.AsError(client.Do("GET", "key")) != nil)
	// Output:
	// pong: PONG
	// failed: true
}

// Any function can be the server.
func ExampleScriptedHandler() {
	counter := 0
	server, err := chaos.ListenScripted(chaos.ScriptedOpts{
		Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			counter++
			_, err := fmt.Fprintf(c, ":%d\r\n", counter)
			return err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := &redisdumb.Conn{Addr: server.Addr(), Timeout: time.Minute}
	defer client.Close()
	fmt.Println(client.Do("ANYTHING"), client.Do("AT", "ALL"))
	// Output: 1 2
}
