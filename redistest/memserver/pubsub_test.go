package memserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// Messages arrive with both protocols, although miniredis only sends them in their RESP2 form.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint(protocol), func(t *testing.T) {
			opts := redisconn.Opts{Protocol: protocol, Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute}
			conn, err := redisconn.Connect(t.Context(), memserver.New(t).Addr(), opts)
			require.NoError(t, err)
			defer conn.Close()
			s, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
			require.NoError(t, err)
			defer s.Close()
			sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
			require.NoError(t, sub.Subscribe(t.Context(), redispubsub.Channel("news"), redispubsub.Pattern("n*")))
			db := redis.SyncCtx{S: conn}
			for i := range 2 {
				require.Equal(t, int64(2), db.Do(t.Context(), "PUBLISH", "news", i))
			}
			var got []string
			for ev, err := range sub.Events(t.Context()) {
				require.NoError(t, err)
				msg, ok := ev.(redispubsub.Message)
				require.True(t, ok, "%T", ev)
				if got = append(got, string(msg.Payload)); len(got) == 4 {
					break
				}
			}
			require.ElementsMatch(t, []string{"0", "0", "1", "1"}, got)
		})
	}
}
