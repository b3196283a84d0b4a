package caching

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// servedFor reads a key every millisecond, and returns for how long the client still returns the
// old value, at most patient. It stops at an error, or after a second without an answer.
func servedFor(c cached, key, before string) (served time.Duration) {
	began := time.Now()
	for served < patient {
		answer := make(chan string, 1)
		go func() { // ends with the client
			if text, err := c.get(key); err == nil {
				answer <- text
				return
			}
			answer <- "an error"
		}()
		select {
		case text := <-answer:
			if text != before {
				return served
			}
			served = time.Since(began)
		case <-time.After(time.Second):
			return served
		}
		time.Sleep(time.Millisecond)
	}
	return served
}

// BenchmarkBlackHole swallows the server's bytes on a client's connections. Then another client
// writes a key that is in memory. It reports how long the first client returns the old value.
func BenchmarkBlackHole(b *testing.B) {
	server := testbed.NewServer(b)
	other := uncached(b, server)
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			proxy := chaos.NewProxy(b, server.Addr(), chaos.ProxyOpts{LogLimit: -1})
			client := c.connect(b, proxy.Addr())
			require.NoError(b, redis.Err(other.Do("SET", "lost", "old")))
			for range 2 {
				text, err := client.get("lost")
				require.NoError(b, err)
				require.Equal(b, "old", text)
			}
			proxy.Arm(chaos.Fault{Do: chaos.Swallow, On: chaos.Replies, At: chaos.Now()})
			require.NoError(b, redis.Err(other.Do("SET", "lost", "new")))
			b.ReportMetric(servedFor(client, "lost", "old").Seconds(), "old-s")
		})
	}
}

// BenchmarkMovedNull moves a slot for which a client has null in memory, and then another client
// writes the key. It reports how long the first client still returns null.
func BenchmarkMovedNull(b *testing.B) {
	bed := testbed.NewCluster(b, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	for _, c := range clients {
		if c.cluster == nil {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			client, key := c.cluster(b, bed.Addrs()), "null:"+c.name
			for range 2 {
				text, err := client.get(key)
				require.NoError(b, err)
				require.Empty(b, text)
			}
			s := int(slot.Of(key))
			from, err := bed.Owner(s)
			require.NoError(b, err)
			to := bed.Node(0)
			if from == to {
				to = bed.Node(1)
			}
			require.NoError(b, bed.MoveSlot(s, to))
			require.NoError(b, redis.Err(uncached(b, to.Server).Do("SET", key, "new")))
			b.ReportMetric(servedFor(client, key, "").Seconds(), "null-s")
		})
	}
}
