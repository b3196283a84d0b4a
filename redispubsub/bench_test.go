package redispubsub_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// BenchmarkMessages measures how fast a subscriber takes messages of 16 bytes, from a scripted server that
// writes them as fast as it can.
func BenchmarkMessages(b *testing.B) {
	message := "*3\r\n" + chaos.ScriptedBulk("message") + chaos.ScriptedBulk("channel") + chaos.ScriptedBulk("0123456789abcdef")
	const chunk = 1000
	server := chaos.NewScripted(b, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "*3\r\n%s%s:1\r\n", chaos.ScriptedBulk(strings.ToLower(r.Cmd)), chaos.ScriptedBulk(r.Args[0]))
		return err
	}})
	s := newSubscriber(b, connect(b, server.Addr(), redisconn.Opts{}))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{Policy: redispubsub.Block})
	require.NoError(b, sub.Subscribe(withPatience(b), redispubsub.Channel("channel")))
	messages := bytes.Repeat([]byte(message), chunk)
	go func() { // ends when all messages are written, or with the server
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
