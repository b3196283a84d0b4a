package redisotel

import (
	"context"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// ObserveClient counts the connections of a client whenever metrics are read, which does not slow down
// requests:
//
//   - db.client.connection.count, with the state "used" or "idle". A shared connection is always used.
//   - db.client.connection.pending_requests, the callers that wait for a dedicated connection, or for room in
//     the queue of a shared one.
//   - db.client.connection.create_time, how long it took to open each connection, with its handshake.
//   - db.client.connection.wait_time, how long blocking commands and sessions waited for the dedicated
//     connection that they got.
//
// The times are exact to 1/8, and have the bounds of opts.Buckets. The name of a pool consists of the node's
// address and the database: "host:port/0". [ObserveSubscriber] counts the sockets of subscribers.
//
// ObserveClient uses MeterProvider, DB and URL of opts. Call Unregister of the result when you close the
// client. It returns a [redis.ErrOpts] if client is nil, and otherwise the errors of [NewHook].
func ObserveClient(client *redispipe.Client, opts Opts) (metric.Registration, error) {
	if client == nil {
		return nil, redis.Err(redis.ErrOpts.NewType("no_client").New("the client is nil"))
	}
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	meter := opts.meter()
	count, err := connectionCount(meter)
	if err != nil {
		return nil, err
	}
	pending, err := meter.Int64ObservableUpDownCounter("db.client.connection.pending_requests", metric.WithUnit("{request}"),
		metric.WithDescription("The number of current pending requests for an open connection."))
	if err != nil {
		return nil, err
	}
	opening, err := newTimes(meter, opts, "db.client.connection.create_time", "The time it took to create a new connection.")
	if err != nil {
		return nil, err
	}
	wait, err := newTimes(meter, opts, "db.client.connection.wait_time", "The time it took to obtain an open connection from the pool.")
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		all := pools(client, opts.DB)
		for name, p := range all {
			pool := metric.WithAttributeSet(attribute.NewSet(attribute.String("db.client.connection.pool.name", name)))
			o.ObserveInt64(count, p.used, pool, metric.WithAttributes(state.String("used")))
			o.ObserveInt64(count, p.idle, pool, metric.WithAttributes(state.String("idle")))
			o.ObserveInt64(pending, p.waiting, pool)
			opening.record(ctx, name, &p.opening, pool)
			wait.record(ctx, name, &p.wait, pool)
		}
		opening.keep(all)
		wait.keep(all)
		return nil
	}, count, pending)
}

// ObserveSubscriber counts the connected sockets of a subscriber in db.client.connection.count, with the state "used",
// whenever metrics are read. The name of a pool is "host:port/pubsub".
//
// ObserveSubscriber uses MeterProvider of opts. Call Unregister of the result when you close the subscriber. It returns
// a [redis.ErrOpts] if subscriber is nil.
func ObserveSubscriber(subscriber *redispubsub.Subscriber, opts Opts) (metric.Registration, error) {
	if subscriber == nil {
		return nil, redis.Err(redis.ErrOpts.NewType("no_subscriber").New("the subscriber is nil"))
	}
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	meter := opts.meter()
	count, err := connectionCount(meter)
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		connected := make(map[string]int64)
		for _, socket := range subscriber.Stats().Sockets {
			n := int64(0)
			if socket.State == redispubsub.SocketConnected {
				n = 1
			}
			connected[hostPort(socket.Addr)+"/pubsub"] += n
		}
		for name, n := range connected {
			pool := attribute.String("db.client.connection.pool.name", name)
			o.ObserveInt64(count, n, metric.WithAttributes(pool, state.String("used")))
		}
		return nil
	}, count)
}

func connectionCount(meter metric.Meter) (metric.Int64ObservableUpDownCounter, error) {
	return meter.Int64ObservableUpDownCounter("db.client.connection.count", metric.WithUnit("{connection}"),
		metric.WithDescription("The number of connections that are currently in state described by the state attribute."))
}

const state = attribute.Key("db.client.connection.state")

// pool counts the connections to a node, and the callers that wait for one.
type pool struct {
	used, idle, waiting int64
	opening, wait       redis.Histogram
}

// add adds the statistics of a shared connection and its dedicated ones.
func (p *pool) add(s redisconn.Stats) {
	if s.State == "connected" {
		p.used++
	}
	d := &s.Dedicated
	p.used += int64(d.Open - d.Idle)
	p.idle += int64(d.Idle)
	p.waiting += int64(d.Waiting + s.WaitingForRoom)
	p.opening.Merge(s.Opening)
	p.wait.Merge(d.Wait)
}

// pools returns the present pools by name: host:port/database.
func pools(client *redispipe.Client, db int) map[string]*pool {
	all := make(map[string]*pool)
	for _, node := range client.Stats().Nodes { // a node with two roles is listed twice
		name := poolName(node.Addr, db)
		if all[name] == nil {
			all[name] = new(pool)
		}
		for _, conn := range node.Conns {
			all[name].add(conn)
		}
	}
	return all
}

func poolName(addr string, db int) string { return hostPort(addr) + "/" + strconv.Itoa(db) }

func hostPort(addr string) string {
	host, port := split(addr)
	if port != 0 {
		host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return host
}
