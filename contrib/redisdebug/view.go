package redisdebug

import (
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
)

// View is what the page shows.
type View struct {
	At          time.Time
	Clients     []Client
	Caches      []Cache
	Subscribers []Subscriber
	Failovers   []Failover
	// SlowFrom is how long an operation takes at least to be in Slow, which begins with the last one.
	SlowFrom string
	Slow     []Slow
}

// Client are the statistics of a client. PerSecond, PerWrite and Stages are of the last seconds, what else counts is
// counted from the start.
type Client struct {
	Name                            string
	PerSecond, PerWrite             float64 // requests
	Values, Refused, NotSent        uint64
	Unknown                         uint64
	InFlight, Queued, WaitingRoom   int
	Retries, Moved, Asked, Migrated uint64
	Hedged, Refreshes               uint64
	WaitingRetries                  int
	Dedicated                       redisconn.DedicatedStats
	Stages                          []Stage
	Nodes                           []Node
}

// Stage is how long batches took in a stage.
type Stage struct {
	Name           string
	Mean, P50, P99 string
}

// Node is a node with its connections.
type Node struct {
	Addr        string
	Replica     bool
	Connections []Connection
}

// Connection is a connection to a node.
type Connection struct {
	State                           string
	InFlight, Queued                int
	Ping                            string
	Connects, Disconnects, BadDials uint64
}

// Cache are the statistics of a cache.
type Cache struct {
	Name  string
	Stats rediscache.Stats
}

// Subscriber are the statistics of a subscriber.
type Subscriber struct {
	Name                                string
	Subscriptions, Unplaced, OpenGaps   int
	Messages, Dropped                   uint64
	ConnectionLost, SlotMoved, Failover uint64 // gaps, by reason
	Sockets                             []Socket
}

// Socket is a socket of a subscriber.
type Socket struct {
	Addr, State  string
	Topics, Live int
	Messages     int64
}

// Failover are the members of a client of several databases, and its shifts by reason.
type Failover struct {
	Name                       string
	Failed, Restored, Switched uint64
	Members                    []Member
}

// Member is a database.
type Member struct {
	Name       string
	Active, Up bool
	Share      float64
}

// rates are the statistics that rates are computed from.
type rates struct {
	mu        sync.Mutex // guards what follows
	at, older time.Time
	last, old redisconn.Stats
}

// since returns statistics that are at least a second old, or those of the start, and their age.
func (r *rates) since(now redisconn.Stats) (redisconn.Stats, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) >= time.Second {
		r.old, r.older = r.last, r.at
		r.last, r.at = now, time.Now()
	}
	if r.older.IsZero() {
		return redisconn.Stats{}, 0
	}
	return r.old, time.Since(r.older)
}

func client(name string, s rediscluster.Stats, r *rates) Client {
	t := s.Total
	old, age := r.since(t)
	if t.Writes < old.Writes || t.Requests() < old.Requests() {
		old, age = redisconn.Stats{}, 0 // of nodes that are gone
	}
	c := Client{
		Name: name, Values: t.Values, Refused: t.Refused, NotSent: t.NotSent, Unknown: t.Unknown,
		InFlight: t.InFlight, Queued: t.Queued, WaitingRoom: t.WaitingForRoom, Dedicated: t.Dedicated,
		Retries: s.Retries, Moved: s.Moved, Asked: s.Asked, Migrated: s.Migrating,
		Hedged: s.Hedged, Refreshes: s.Refreshes, WaitingRetries: s.Waiting,
	}
	if writes := t.Writes - old.Writes; writes > 0 {
		c.PerWrite = float64(t.WrittenRequests-old.WrittenRequests) / float64(writes)
	}
	if age > 0 {
		c.PerSecond = float64(t.Requests()-old.Requests()) / age.Seconds()
	}
	for _, stage := range []redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading, redis.StageCallback} {
		h := t.Stage(stage)
		if before := old.Stage(stage); before != nil && h != nil {
			h = h.Since(before)
		}
		if h == nil || h.Count() == 0 {
			continue
		}
		c.Stages = append(c.Stages, Stage{
			stage.String(), round(h.Sum() / time.Duration(h.Count())), round(h.Quantile(0.5)), round(h.Quantile(0.99)),
		})
	}
	for _, n := range s.Nodes {
		node := Node{Addr: n.Addr, Replica: n.Replica}
		for _, conn := range n.Conns {
			node.Connections = append(node.Connections, Connection{
				State: conn.State, InFlight: conn.InFlight, Queued: conn.Queued, Ping: round(conn.PingLatency),
				Connects: conn.Connects, Disconnects: conn.Disconnects, BadDials: conn.FailedDials,
			})
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c
}

func subscriber(name string, s redispubsub.Stats) Subscriber {
	states := map[redispubsub.SocketState]string{
		redispubsub.SocketConnecting: "connecting", redispubsub.SocketConnected: "connected", redispubsub.SocketDown: "down",
	}
	out := Subscriber{
		Name: name, Subscriptions: s.Subscriptions, Unplaced: s.Unplaced, OpenGaps: s.OpenGaps, Messages: s.Messages,
		Dropped: s.Dropped, ConnectionLost: s.ConnectionLost, SlotMoved: s.SlotMoved, Failover: s.Failover,
	}
	for _, socket := range s.Sockets {
		out.Sockets = append(out.Sockets, Socket{socket.Addr, states[socket.State], socket.Topics, socket.Live, socket.Messages})
	}
	return out
}

func failover(name string, s redisfailover.Stats) Failover {
	out := Failover{Name: name, Failed: s.Failed, Restored: s.Restored, Switched: s.Switched}
	for _, m := range s.Members {
		out.Members = append(out.Members, Member{m.Name, m.Active, m.Up, m.Share})
	}
	return out
}

// round returns a duration with three digits.
func round(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	if d == 0 {
		return strconv.Itoa(0)
	}
	return d.Round(unit).String()
}
