package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// RigOpts are the options of a Rig.
type RigOpts struct {
	// Name is unique among the rigs of a process. Required.
	Name string
	// Seed is the seed of the proxy and the loads.
	Seed int64
	// Server, if set, is used instead of a server of the rig.
	Server *testbed.Server
	// ServerOpts are the options of the rig's server.
	ServerOpts testbed.Options
	// Conn are the options of the connection. The rig replaces Logger by its Events.
	Conn redisconn.Opts
	// LogLimit is the option of the proxy. A Rig judges all requests in the log.
	LogLimit int
}

// Rig is a connection under test, together with everything that judges it: server, proxy, ledger.
type Rig struct {
	Witnesses
	Server *testbed.Server
	Proxy  *chaos.Proxy
	Conn   *redisconn.Connection
	Events *Events

	opts   RigOpts
	family oracle.Family // the goroutines of the connection
}

// NewRig starts a server (if none is given), a proxy in front of it, and a connection through the
// proxy. Call Close.
func NewRig(o RigOpts) (*Rig, error) {
	if o.LogLimit == 0 {
		o.LogLimit = 4 << 20
	}
	r := &Rig{Witnesses: Witnesses{seed: o.Seed}, opts: o, Server: o.Server, Events: NewEvents()}
	r.NewLedger(o.Name)
	var err error
	if r.Server == nil {
		if r.Server, err = testbed.Start(o.ServerOpts); err != nil {
			return nil, err
		}
	}
	r.Proxy, err = chaos.ListenProxy(r.Server.Addr(), chaos.ProxyOpts{Seed: o.Seed, LogLimit: o.LogLimit})
	if err != nil {
		r.Close()
		return nil, err
	}
	r.family = oracle.NewFamily()
	if err := r.Connect(o.Conn); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Connect replaces the rig's connection by a new one.
func (r *Rig) Connect(opts redisconn.Opts) error {
	if r.Conn != nil {
		r.Conn.Close()
	}
	opts.Logger = r.Events
	conn, err := setUp(func() (*redisconn.Connection, error) {
		return redisconn.Connect(context.Background(), r.Proxy.Addr(), opts)
	})
	if err != nil {
		return err
	}
	r.Conn = conn
	return nil
}

// setUpWithin is how long requests to healthy servers may fail: a client gives up after IOTimeout,
// and the machine may pause for longer than that.
const setUpWithin = time.Minute

// setUp calls once until once succeeds, and returns the result.
func setUp[T any](once func() (T, error)) (T, error) {
	for end := time.Now().Add(setUpWithin); ; time.Sleep(5 * time.Millisecond) {
		res, err := once()
		if err == nil || time.Now().After(end) {
			return res, err
		}
	}
}

// Load returns a load on the rig's connection, which the rig's ledger judges.
func (r *Rig) Load(workers, requests int) *Load { return r.load(r.Conn, workers, requests) }

// Judge waits for all requests, but not longer than within. It compares the results with what the
// server executed and the proxy saw, and returns the report. The server must answer.
func (r *Rig) Judge(within time.Duration) (*oracle.Report, Precision, error) {
	report, err := r.verify(r.Server.Do, within)
	if err != nil {
		return report, Precision{}, err
	}
	return report, scoreNotSent(r.Ledger, r.Name, r.Proxy.Log()), nil
}

// endWithin is how long the goroutines of a closed connection may run before they count as leaked.
// Usually they end at once, but not on a busy machine.
const endWithin = time.Minute

// engines are the packages whose goroutines count as leaked.
var engines = []string{"redispipe/redisconn.", "redispipe/rediscluster."}

// Close closes everything, and reports goroutines that outlive the connection.
func (r *Rig) Close() {
	if r.Conn != nil {
		r.Conn.Close()
		r.family.Settle(r.Ledger.Report, endWithin, engines...)
	}
	if r.Proxy != nil {
		r.Proxy.Close()
	}
	if r.opts.Server == nil && r.Server != nil {
		r.Server.Close()
	}
}

// WaitConnected waits until the connection is up, and returns how long it took.
func (r *Rig) WaitConnected(within time.Duration) (time.Duration, error) {
	begin := time.Now()
	for time.Since(begin) < within {
		if r.Conn.Ping() == nil {
			return time.Since(begin), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("torture: not connected after %v; last: %s", within, r.Events.Last())
}
