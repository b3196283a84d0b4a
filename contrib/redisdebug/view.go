package redisdebug

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
)

// View is the data that the page shows. Counters count from the start of the client, and have the same names as in
// Stats.
type View struct {
	At          time.Time
	Clients     []Client
	Caches      []Cache
	Subscribers []Subscriber
	Failovers   []Failover
	// SlowFrom is how long an operation must take to be listed in Slow. The last operation comes first.
	SlowFrom string
	Slow     []Slow
}

// Client are the statistics of a client. PerSecond, PerWrite and Stages are those of the last seconds.
type Client struct {
	Name                string
	PerSecond, PerWrite float64 // requests
	Stages              []Stage
	rediscluster.Stats
}

// HasSlots reports whether any node has slots.
func (c Client) HasSlots() bool {
	return slices.ContainsFunc(c.Nodes, func(n rediscluster.NodeStats) bool { return len(n.Slots) > 0 })
}

// Stage is how long batches took in a stage.
type Stage struct {
	Name           string
	Mean, P50, P99 string
}

// Cache are the statistics of a cache.
type Cache struct {
	Name string
	rediscache.Stats
}

// Subscriber are the statistics of a subscriber, without errors, whose texts may come from a server.
type Subscriber struct {
	Name    string
	Sockets []Socket // hides Stats.Sockets
	redispubsub.Stats
}

// Socket is a socket of a subscriber.
type Socket struct {
	Addr, State     string
	Since           time.Time
	Topics, Live    int
	Messages, Bytes int64
	Confirmed       time.Time
}

// Failover are the members of a client of several databases, and its shifts by reason.
type Failover struct {
	Name    string
	Members []Member // hides Stats.Members
	redisfailover.Stats
}

// Member is a database.
type Member struct {
	Name       string
	Weight     int
	Active, Up bool
	Share      float64
	Since      time.Time
}

// rates are the statistics that rates are computed from.
type rates struct {
	mu        sync.Mutex // guards the fields below
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
	if r.older.IsZero() || now.Writes < r.old.Writes || now.Requests() < r.old.Requests() { // the sum falls if nodes are gone
		return redisconn.Stats{}, 0
	}
	return r.old, time.Since(r.older)
}

func client(name string, s rediscluster.Stats, r *rates) Client {
	old, age := r.since(s.Total)
	lately := live.Between(live.Of(old), live.Of(s.Total), age)
	c := Client{Name: name, PerSecond: lately.PerSecond, PerWrite: lately.PerWrite, Stats: s}
	for i, stage := range live.Stages {
		h := s.Total.Stage(stage)
		if before := old.Stage(stage); before != nil && h != nil {
			h = h.Since(before)
		}
		if h == nil || h.Count() == 0 {
			continue
		}
		c.Stages = append(c.Stages, Stage{stage.String(), round(lately.Mean[i]), round(h.Quantile(0.5)), round(h.Quantile(0.99))})
	}
	return c
}

func subscriber(name string, s redispubsub.Stats) Subscriber {
	out := Subscriber{Name: name, Stats: s}
	for _, socket := range s.Sockets {
		out.Sockets = append(out.Sockets, Socket{
			Addr: socket.Addr, State: socket.State.String(), Since: socket.Since, Topics: socket.Topics, Live: socket.Live,
			Messages: socket.Messages, Bytes: socket.Bytes, Confirmed: socket.Confirmed,
		})
	}
	out.Stats.Sockets = nil
	return out
}

func failover(name string, s redisfailover.Stats) Failover {
	out := Failover{Name: name, Stats: s}
	for _, m := range s.Members {
		out.Members = append(out.Members, Member{m.Name, m.Weight, m.Active, m.Up, m.Share, m.Since})
	}
	out.Stats.Members = nil
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
