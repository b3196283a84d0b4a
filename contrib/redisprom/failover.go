package redisprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe/redisfailover"
)

// FailoverCollector exports the members and the shifts of a client of several databases. It reads them when it
// is scraped, so it does not slow down requests.
type FailoverCollector struct{ client *redisfailover.Client }

var _ prometheus.Collector = (*FailoverCollector)(nil)

// NewFailoverCollector returns a FailoverCollector.
func NewFailoverCollector(client *redisfailover.Client) *FailoverCollector {
	return &FailoverCollector{given(client)}
}

var (
	memberUpDesc    = newDesc("failover_member_up", "1 if requests could go to the member.", "member")
	memberShareDesc = newDesc("failover_member_share", "Share of the keys whose requests go to the member.", "member")
	shiftsDesc      = newDesc("failover_shifts_total", "Shifts to another member.", "reason")
)

// Describe implements prometheus.Collector.
func (c *FailoverCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- memberUpDesc
	ch <- memberShareDesc
	ch <- shiftsDesc
}

// Collect implements prometheus.Collector.
func (c *FailoverCollector) Collect(ch chan<- prometheus.Metric) {
	stats := c.client.Stats()
	for _, m := range stats.Members {
		up := 0.0
		if m.Up {
			up = 1
		}
		name := label(m.Name)
		ch <- prometheus.MustNewConstMetric(memberUpDesc, prometheus.GaugeValue, up, name)
		ch <- prometheus.MustNewConstMetric(memberShareDesc, prometheus.GaugeValue, m.Share, name)
	}
	for reason, n := range map[redisfailover.Reason]uint64{
		redisfailover.Failed: stats.Failed, redisfailover.Restored: stats.Restored, redisfailover.Switched: stats.Switched,
	} {
		ch <- prometheus.MustNewConstMetric(shiftsDesc, prometheus.CounterValue, float64(n), reason.String())
	}
}
