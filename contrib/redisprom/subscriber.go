package redisprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe/redispubsub"
)

// SubscriberCollector exports the sums of the statistics of subscribers. It reads them when
// it is scraped, so it does not delay messages.
type SubscriberCollector struct{ subscribers []*redispubsub.Subscriber }

var _ prometheus.Collector = (*SubscriberCollector)(nil)

// NewSubscriberCollector returns a SubscriberCollector.
func NewSubscriberCollector(subscribers ...*redispubsub.Subscriber) *SubscriberCollector {
	for _, s := range subscribers {
		given(s)
	}
	return &SubscriberCollector{subscribers}
}

var (
	subscriptionsDesc = newDesc("subscriptions", "Subscriptions that are not closed.")
	topicsDesc        = newDesc("subscription_topics", "Topics by state: subscribed, waiting for a node's confirmation, or without a node.", "state")
	socketsDesc       = newDesc("subscriber_sockets", "Sockets to nodes with topics.", "state")
	gapsDesc          = newDesc("subscription_gaps_total", "Gaps that have begun, for each topic of each subscription.", "reason")
	openGapsDesc      = newDesc("subscription_open_gaps", "Gaps that have not ended.")
	messagesDesc      = newDesc("subscriber_messages_total", "Messages that sockets have received.")
	receivedDesc      = newDesc("subscriber_received_bytes_total", "Bytes that sockets have received.")
	droppedDesc       = newDesc("subscription_dropped_messages_total", "Messages that did not fit into the buffer of a subscription.")
)

// Describe implements prometheus.Collector.
func (c *SubscriberCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		subscriptionsDesc, topicsDesc, socketsDesc, gapsDesc, openGapsDesc, messagesDesc, receivedDesc, droppedDesc,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *SubscriberCollector) Collect(ch chan<- prometheus.Metric) {
	var sum redispubsub.Stats
	var topics, live int
	sockets := map[redispubsub.SocketState]int{}
	for _, s := range c.subscribers {
		stats := s.Stats()
		for _, socket := range stats.Sockets {
			sockets[socket.State]++
			topics += socket.Topics
			live += socket.Live
		}
		sum.Subscriptions += stats.Subscriptions
		sum.Unplaced += stats.Unplaced
		sum.ConnectionLost += stats.ConnectionLost
		sum.SlotMoved += stats.SlotMoved
		sum.Failover += stats.Failover
		sum.OpenGaps += stats.OpenGaps
		sum.Messages += stats.Messages
		sum.Bytes += stats.Bytes
		sum.Dropped += stats.Dropped
	}
	gauges := func(desc *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	counters := func(desc *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	gauges(subscriptionsDesc, sum.Subscriptions)
	gauges(topicsDesc, live, "subscribed")
	gauges(topicsDesc, topics-live, "waiting")
	gauges(topicsDesc, sum.Unplaced, "unplaced")
	for _, state := range []redispubsub.SocketState{redispubsub.SocketConnecting, redispubsub.SocketConnected, redispubsub.SocketDown} {
		gauges(socketsDesc, sockets[state], state.String())
	}
	counters(gapsDesc, sum.ConnectionLost, "connection_lost")
	counters(gapsDesc, sum.SlotMoved, "slot_moved")
	counters(gapsDesc, sum.Failover, "failover")
	gauges(openGapsDesc, sum.OpenGaps)
	counters(messagesDesc, sum.Messages)
	counters(receivedDesc, sum.Bytes)
	counters(droppedDesc, sum.Dropped)
}
