package redisvirtual

import (
	"context"
	"net"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
)

// Dialer returns a function that makes virtual connections over s: for Options.Dialer of
// go-redis, and for whatever takes such a function. s is a *redispipe.Client, a
// *redisconn.Connection, a *rediscluster.Cluster, or one of them with hooks. Those see each
// request that goes to the shared connection or to a dedicated one, and MULTI to EXEC as a
// transaction, without the values that they are answered with.
//
// Over a connection to one server it makes virtual connections to that, whatever the address.
// Over a cluster, or a master with replicas, it is for clients that know of nodes, such as those
// of go-redis' ClusterOptions and FailoverOptions: an address of a node leads to the shared
// connection to that node, and any other, as that of a sentinel, is dialed: in plain TCP, without
// Opts.Dialer, unless the shared connections use TLS: the client would say its password to whoever
// listens. For a client that knows of one server only, see [Conn].
//
// The function fails, with a [redis.ErrOpts], for such an address, and if s is of another type.
func Dialer(s redis.Sender) func(ctx context.Context, network, addr string) (net.Conn, error) {
	to, err := upstream.Of(s)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil { // as a dialer of sockets
			return nil, err
		}
		if at := to.At(addr); at != nil {
			return newConn(at), nil
		}
		if to.TLS {
			return nil, errAddress.New("no node that is known has the address %s, and without TLS it is not dialed", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// errAddress: an address is not a node's, and the nodes use TLS.
var errAddress = redis.ErrOpts.NewType("virtual_address", redis.ErrTraitNotSent)

// Conn returns a virtual connection over s, which is of a type that [Dialer] takes. Over a
// cluster each request goes to where its keys are, and requests to different nodes have no
// order; a transaction needs keys of one slot, and takes a dedicated connection for as long as
// it lasts. The client has to speak the protocol of the shared connections: RESP2, or with
// redisconn.Opts.Protocol 3 RESP3. Where it does not, its first request ends the connection with a
// [redis.ErrOpts], not sent.
//
// If s is of another type, Read and Write fail with a [redis.ErrOpts].
func Conn(s redis.Sender) net.Conn {
	to, err := upstream.Of(s)
	if err != nil {
		c := newConn(&upstream.Servers{Terms: replies.Terms{Several: true}}) // of no address
		c.stream.Fail(redis.AsErrorx(err))
		return c
	}
	return newConn(to)
}
