package redispubsub_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/faulty"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// BenchmarkMessages takes messages of 16 bytes from a server that has nothing else to do.
func BenchmarkMessages(b *testing.B) {
	message := "*3\r\n" + faulty.ScriptedBulk("message") + faulty.ScriptedBulk("channel") + faulty.ScriptedBulk("0123456789abcdef")
	const chunk = 1000
	server := faulty.NewScripted(b, faulty.ScriptedOpts{Handler: func(c *faulty.ScriptedConn, r faulty.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "*3\r\n%s%s:1\r\n", faulty.ScriptedBulk(strings.ToLower(r.Cmd)), faulty.ScriptedBulk(r.Args[0]))
		return err
	}})
	s := newSubscriber(b, connect(b, server.Addr(), redisconn.Opts{}))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{Policy: redispubsub.Block})
	require.NoError(b, sub.Subscribe(withPatience(b), redispubsub.Channel("channel")))
	messages := bytes.Repeat([]byte(message), chunk)
	go func() { // ends when all are written, or with the server
		for range b.N/chunk + 1 {
			server.Broadcast(messages)
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for ev, err := range sub.Events(b.Context()) {
		if _, ok := ev.(redispubsub.Message); !ok {
			b.Fatalf("%T, %v", ev, err)
		}
		if n++; n == b.N {
			break
		}
	}
}
