package redisprom

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// Collector exports the statistics of connections or of a cluster. It reads them when it
// is scraped, so it does not slow down requests.
type Collector struct {
	// conns returns the statistics by node. cluster returns those of the cluster; it is nil for connections.
	conns   func() map[string]redisconn.Stats
	cluster func() rediscluster.Stats
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of connections. It adds up the statistics of connections with the
// same address.
func NewCollector(conns ...*redisconn.Connection) *Collector {
	for _, conn := range conns {
		given(conn)
	}
	return &Collector{conns: func() map[string]redisconn.Stats {
		nodes := make(map[string]redisconn.Stats)
		for _, conn := range conns {
			add(nodes, conn.Addr(), conn.Stats())
		}
		return nodes
	}}
}

// NewClusterCollector returns a Collector of a cluster. It exports the present nodes of the
// cluster.
func NewClusterCollector(cluster *rediscluster.Cluster) *Collector {
	return &Collector{cluster: given(cluster).Stats}
}

// NewClientCollector returns a Collector of a client of any servers. It exports the
// client's present nodes.
func NewClientCollector(client *redispipe.Client) *Collector {
	return &Collector{cluster: given(client).Stats}
}

// given returns p. It panics if p is nil, so that a program fails when it creates a collector
// instead of when the collector is scraped.
func given[T any](p *T) *T {
	if p == nil {
		panic(fmt.Sprintf("redisprom: a nil %T", p))
	}
	return p
}

// add adds statistics to those of the same node in nodes, whose keys are values of the label "node".
func add(nodes map[string]redisconn.Stats, addr string, stats redisconn.Stats) {
	addr = label(addr)
	sum := nodes[addr]
	sum.Merge(stats)
	if stats.State == "connected" {
		sum.State = stats.State
	}
	nodes[addr] = sum
}

// metric is a metric computed from a connection's statistics.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *redisconn.Stats) float64
}

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("redispipe_"+name, help, labels, nil)
}

func counter(name, help string, value func(s *redisconn.Stats) uint64) metric {
	return metric{newDesc(name, help, "node"), prometheus.CounterValue, func(s *redisconn.Stats) float64 { return float64(value(s)) }}
}

func gauge(name, help string, value func(s *redisconn.Stats) int) metric {
	return metric{newDesc(name, help, "node"), prometheus.GaugeValue, func(s *redisconn.Stats) float64 { return float64(value(s)) }}
}

var (
	metrics = []metric{
		counter("writes_total", "Batches that were written.", func(s *redisconn.Stats) uint64 { return s.Writes }),
		counter("written_requests_total", "Requests in written batches.", func(s *redisconn.Stats) uint64 { return s.WrittenRequests }),
		counter("written_bytes_total", "Bytes of written batches.", func(s *redisconn.Stats) uint64 { return s.WrittenBytes }),
		counter("read_bytes_total", "Bytes that were read.", func(s *redisconn.Stats) uint64 { return s.ReadBytes }),
		counter("connects_total", "Sockets that were connected.", func(s *redisconn.Stats) uint64 { return s.Connects }),
		counter("disconnects_total", "Sockets that were lost.", func(s *redisconn.Stats) uint64 { return s.Disconnects }),
		counter("failed_dials_total", "Failed attempts to connect.", func(s *redisconn.Stats) uint64 { return s.FailedDials }),
		gauge("in_flight_requests", "Requests that wait for their answers.", func(s *redisconn.Stats) int { return s.InFlight }),
		gauge("queued_requests", "Requests that wait to be written.", func(s *redisconn.Stats) int { return s.Queued }),
		gauge("queued_bytes", "Bytes that wait to be written.", func(s *redisconn.Stats) int { return s.QueuedBytes }),
		gauge("waiting_callers", "Callers that wait for room in a queue.", func(s *redisconn.Stats) int { return s.WaitingForRoom }),
		gauge("dedicated_connections", "Dedicated connections: those for blocking commands and sessions.", func(s *redisconn.Stats) int { return s.Dedicated.Open }),
		gauge("dedicated_idle_connections", "Dedicated connections that are idle.", func(s *redisconn.Stats) int { return s.Dedicated.Idle }),
		gauge("dedicated_waiting_callers", "Callers that wait for a dedicated connection.", func(s *redisconn.Stats) int { return s.Dedicated.Waiting }),
		counter("dedicated_connects_total", "Dedicated connections that were opened.", func(s *redisconn.Stats) uint64 { return s.Dedicated.Connects }),
		counter("dedicated_disconnects_total", "Dedicated connections that were lost.", func(s *redisconn.Stats) uint64 { return s.Dedicated.Disconnects }),
		counter("dedicated_failed_dials_total", "Failed attempts to open a dedicated connection.", func(s *redisconn.Stats) uint64 { return s.Dedicated.FailedDials }),
		gauge("connected", "1 if there is a connection to the node.", func(s *redisconn.Stats) int {
			if s.State == "connected" {
				return 1
			}
			return 0
		}),
	}
	requestsDesc  = newDesc("requests_total", "Requests by outcome, as connections saw them.", "node", "outcome")
	dedicatedDesc = newDesc("dedicated_requests_total", "Blocking commands and requests of sessions by outcome.", "node", "outcome")
	stageDesc     = newDesc("stage_duration_seconds", "How long each stage of a request took.", "node", "stage")
	connectDesc   = newDesc("connect_duration_seconds", "How long it took to open each socket, with its handshake.", "node")
	waitDesc      = newDesc("dedicated_wait_seconds", "How long callers waited for a dedicated connection that they got.", "node")
	redirectsDesc = newDesc("redirects_total", "Redirects that were followed.", "kind")
	retriesDesc   = newDesc("retries_total", "Requests that were sent again after a failure.")
	refreshesDesc = newDesc("refreshes_total", "How often the topology was read.")
	pendingDesc   = newDesc("waiting_retries", "Requests that wait for their next attempt.")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range metrics {
		ch <- m.desc
	}
	ch <- requestsDesc
	ch <- dedicatedDesc
	ch <- stageDesc
	ch <- connectDesc
	ch <- waitDesc
	if c.cluster != nil {
		ch <- redirectsDesc
		ch <- retriesDesc
		ch <- refreshesDesc
		ch <- pendingDesc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if c.cluster == nil {
		collectNodes(ch, c.conns())
		return
	}
	stats := c.cluster()
	nodes := make(map[string]redisconn.Stats)
	for _, n := range stats.Nodes {
		for _, conn := range n.Conns {
			add(nodes, n.Addr, conn)
		}
	}
	collectNodes(ch, nodes)
	counters := func(desc *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	counters(redirectsDesc, stats.Moved, "moved")
	counters(redirectsDesc, stats.Asked, "ask")
	counters(redirectsDesc, stats.Migrating, "tryagain")
	counters(retriesDesc, stats.Retries)
	counters(refreshesDesc, stats.Refreshes)
	ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(stats.Waiting))
}

func collectNodes(ch chan<- prometheus.Metric, nodes map[string]redisconn.Stats) {
	addrs := slices.Sorted(maps.Keys(nodes)) // sorted, so that the same nodes are left out each time if there are too many
	for _, addr := range addrs[:min(len(addrs), nodesMost)] {
		stats := nodes[addr]
		for _, m := range metrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&stats), addr)
		}
		collectOutcomes(ch, requestsDesc, addr, stats.Values, stats.Refused, stats.NotSent, stats.Unknown)
		d := &stats.Dedicated
		collectOutcomes(ch, dedicatedDesc, addr, d.Values, d.Refused, d.NotSent, d.Unknown)
		for _, stage := range []redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading, redis.StageCallback} {
			collectTimes(ch, stageDesc, stats.Stage(stage), addr, stage.String())
		}
		collectTimes(ch, connectDesc, stats.Opening, addr)
		collectTimes(ch, waitDesc, d.Wait, addr)
	}
}

func collectOutcomes(ch chan<- prometheus.Metric, desc *prometheus.Desc, addr string, values, refused, notSent, unknown uint64) {
	for o, n := range map[redis.Outcome]uint64{
		redis.OutcomeValue: values, redis.OutcomeRefused: refused,
		redis.OutcomeNotSent: notSent, redis.OutcomeUnknown: unknown,
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), addr, outcome(o))
	}
}

// collectTimes exports a histogram with DefaultBuckets.
func collectTimes(ch chan<- prometheus.Metric, desc *prometheus.Desc, h *redis.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(DefaultBuckets))
	for _, bound := range DefaultBuckets {
		below := uint64(0)
		for upper, n := range h.All() {
			if upper <= time.Duration(bound*1e9) {
				below += n
			}
		}
		buckets[bound] = below
	}
	ch <- prometheus.MustNewConstHistogram(desc, h.Count(), h.Sum().Seconds(), buckets, labels...)
}
