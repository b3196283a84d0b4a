// Package dialer dials for a client whose tests run over virtual connections. Command suites puts
// this file into the client's own package, which calls VirtualDial.
package dialer

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
)

// VirtualDial dials a virtual connection over the shared connection to the server and database.
// $VIRTUAL is the protocol of the shared connection; if it is not set, VirtualDial dials a socket.
func VirtualDial(ctx context.Context, network, addr string, db int) (net.Conn, error) {
	protocol := os.Getenv("VIRTUAL")
	if protocol == "" {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	virtualConns.Lock()
	defer virtualConns.Unlock()
	key := virtualKey{network, addr, db}
	dial := virtualConns.dials[key]
	if dial == nil {
		conn, err := redisconn.Connect(context.Background(), virtualAddr(network, addr), redisconn.Opts{
			Protocol: int(protocol[0] - '0'), DB: db, IOTimeout: 20 * time.Second, DialTimeout: time.Second, Logger: redisconn.NoopLogger{},
		})
		if err != nil {
			return nil, err
		}
		dial = redisvirtual.Dialer(conn)
		virtualConns.dials[key] = dial
	}
	return dial(ctx, network, addr)
}

func virtualAddr(network, addr string) string {
	switch {
	case network == "unix":
		return "unix://" + addr
	case strings.HasPrefix(addr, ":"):
		return "127.0.0.1" + addr
	}
	return addr
}

type virtualKey struct {
	network, addr string
	db            int
}

// virtualConns are never closed, because the process only runs tests.
var virtualConns = struct {
	sync.Mutex
	dials map[virtualKey]func(ctx context.Context, network, addr string) (net.Conn, error)
}{dials: map[virtualKey]func(ctx context.Context, network, addr string) (net.Conn, error){}}
