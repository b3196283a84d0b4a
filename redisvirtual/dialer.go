package redisvirtual

import (
	"context"
	"net"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
)

// Dialer returns a function that opens virtual connections over s, for Options.Dialer of
// go-redis and similar options of other clients. s is a *redispipe.Client, a
// *redisconn.Connection, a *rediscluster.Cluster, or one of them with hooks or with the prefix of
// [redis.WithPrefix]. Hooks see each request that goes to the shared connection or to a dedicated one,
// and MULTI to EXEC as one transaction, without the values of replies. With a prefix, requests that would
// need a separate socket get an error reply, such as SUBSCRIBE.
//
// If s is a connection to one server, every address leads to that server.
//
// If s is a cluster, or a master with replicas, the function is for clients that dial nodes, such as
// go-redis with ClusterOptions or FailoverOptions. The address of a node leads to the shared
// connection to that node. The function dials any other address, such as a sentinel's, in plain TCP,
// without Opts.Dialer. But if the shared connections use TLS, it returns a [redis.ErrOpts] for such an
// address, because the client would send its password unencrypted. It also does so if s has a prefix,
// because the address may be a node's, and nothing would add the prefix. For a client that knows only
// one server, see [Conn].
//
// If s is of another type, the function returns a [redis.ErrOpts].
func Dialer(s redis.Sender) func(ctx context.Context, network, addr string) (net.Conn, error) {
	to, err := upstream.Of(s)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil { // a net.Dialer checks this as well
			return nil, err
		}
		if at := to.At(addr); at != nil {
			return newConn(at), nil
		}
		switch {
		case to.Prefix != "":
			return nil, errAddress.New("no known node has the address %s, and nothing would add the prefix there", addr)
		case to.TLS:
			return nil, errAddress.New("no known node has the address %s, and the library does not dial it without TLS", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// errAddress: an address is not a node's, and the nodes use TLS, or their keys have a prefix.
var errAddress = redis.ErrOpts.NewType("virtual_address", redis.ErrTraitNotSent)

// Conn returns a virtual connection over s, which must be of a type that [Dialer] takes. Over a
// cluster each request goes to the node of its keys, and requests to different nodes may run in any
// order. The keys of a transaction must be in one slot; the transaction uses a dedicated connection until
// it ends. Over a cluster, the client must use the protocol of the shared connections: RESP2, or RESP3
// with redisconn.Opts.Protocol 3. Otherwise its first request ends the connection with a
// [redis.ErrOpts], not sent.
//
// If s is of another type, Read and Write fail with a [redis.ErrOpts].
func Conn(s redis.Sender) net.Conn {
	to, err := upstream.Of(s)
	if err != nil {
		c := newConn(&upstream.Servers{Terms: replies.Terms{Several: true}}) // without an address
		c.stream.Fail(redis.AsErrorx(err))
		return c
	}
	return newConn(to)
}
