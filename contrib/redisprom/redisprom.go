// Package redisprom has metrics for Prometheus: a [Hook] measures operations, a
// [Collector] exports the statistics of connections and clusters, and a
// [SubscriberCollector] those of subscribers.
//
// Operations have the labels command, node and outcome. The number of their values is
// bounded, whatever users send: in addition to the known commands there are at most 256 other
// names, and there are at most 256 nodes.
//
// Collectors of several clients have the same metrics, but a registry accepts each metric only
// once: give each client a label, with [prometheus.WrapRegistererWith]. The functions that create
// collectors panic if their argument is nil.
package redisprom

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe/redis"
)

// DefaultBuckets are the bounds of durations in seconds, from 50 µs to 10 s. The default bounds of
// Prometheus start at 5 ms, but most requests within a data centre are faster.
var DefaultBuckets = []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1, 2, 5, 10}

// nodesMost bounds the values of the label "node".
const nodesMost = 256

// Hook is a [redis.Hook] that measures operations. Register it with a registry, and pass
// it to [redispipe.Hooks] or [redis.WithHook].
type Hook struct {
	duration *prometheus.HistogramVec
	requests *prometheus.CounterVec

	mu    sync.Mutex // guards nodes
	nodes map[string]struct{}
}

var (
	_ redis.Hook           = (*Hook)(nil)
	_ prometheus.Collector = (*Hook)(nil)
)

// NewHook returns a Hook. buckets are the bounds of durations in seconds, in any
// order; nil means DefaultBuckets.
func NewHook(buckets []float64) *Hook {
	if buckets == nil {
		buckets = DefaultBuckets
	}
	buckets = slices.Compact(slices.Sorted(slices.Values(buckets)))
	labels := []string{"command", "node", "outcome"}
	return &Hook{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "redispipe_operation_duration_seconds",
			Help:    "How long operations took: single requests, batches, transactions, steps of scans, subscribing.",
			Buckets: buckets,
		}, labels),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redispipe_operation_requests_total",
			Help: "Requests of operations that have ended.",
		}, labels),
		nodes: make(map[string]struct{}),
	}
}

// Describe implements prometheus.Collector.
func (h *Hook) Describe(ch chan<- *prometheus.Desc) {
	h.duration.Describe(ch)
	h.requests.Describe(ch)
}

// Collect implements prometheus.Collector.
func (h *Hook) Collect(ch chan<- prometheus.Metric) {
	h.duration.Collect(ch)
	h.requests.Collect(ch)
}

// Before implements redis.Hook.
func (h *Hook) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

// After implements redis.Hook.
func (h *Hook) After(_ context.Context, op redis.Operation, end redis.Completion) {
	command := strings.ToLower(op.Command)
	if command == "" {
		command = "several"
	}
	labels := []string{command, h.node(end.Address), outcome(end.Outcome)}
	h.duration.WithLabelValues(labels...).Observe(end.Duration.Seconds())
	h.requests.WithLabelValues(labels...).Add(float64(op.Requests))
}

// node returns the value of the label node for an address.
func (h *Hook) node(addr string) string {
	addr = label(addr)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.nodes[addr]; known {
		return addr
	}
	if len(h.nodes) >= nodesMost {
		return "other"
	}
	h.nodes[addr] = struct{}{}
	return addr
}

// label returns an address as the value of a label. A label must be UTF-8, but the path of a unix socket may
// contain other bytes.
func label(addr string) string { return strings.ToValidUTF8(addr, "\uFFFD") }

// outcome returns the value of the label for an outcome.
func outcome(o redis.Outcome) string { return strings.ReplaceAll(o.String(), " ", "_") }
