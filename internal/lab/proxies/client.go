package main

import (
	"context"
	"crypto/tls"
	"time"
)

// client is a client that is tried. Results are strings, int64s, nils, and slices of these.
type client interface {
	do(ctx context.Context, args ...any) (any, error)
	many(ctx context.Context, reqs [][]any) ([]any, error)
	transact(ctx context.Context, reqs [][]any) ([]any, error)
	script(ctx context.Context, src, key string, arg any) (any, error)
	// pop is BLPOP.
	pop(ctx context.Context, key string, seconds int) (any, error)
	// increment adds one to a key, in a transaction with WATCH.
	increment(ctx context.Context, key string) error
	// subscribe passes the messages of a channel to f, until ctx is done. It returns when the
	// server has confirmed the subscription.
	subscribe(ctx context.Context, channel string, f func(string)) error
	// outcome tells what happened to a request that ended with err.
	outcome(err error) outcome
	close()
}

type target struct {
	addr      string
	tls       *tls.Config
	plain     bool          // use RESP2, and send only the necessary requests
	role      bool          // ask for the server's role
	sentinels bool          // addr is one of sentinels
	fronts    []string      // addresses of a proxy, each in front of another server
	hidden    []string      // addresses that the client can't reach
	heartbeat time.Duration // the interval of heartbeats, for clients that have them; zero is the default
}

// kind is a client that is tried, with its name.
type kind struct {
	name string
	open func(ctx context.Context, to target) (client, error)
}

var clients = []kind{{"redispipe", openPipe}, {"go-redis 9.23.0", openGoRedis}, {"rueidis 1.0.79", openRueidis}}

type outcome int

const (
	value outcome = iota
	refused
	notSent
	unknown
)
