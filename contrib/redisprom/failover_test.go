package redisprom

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redistest"
)

func TestFailover(t *testing.T) {
	members := []redisfailover.Member{{Name: "near"}, {Name: "far"}}
	for i := range members {
		mock := redistest.NewMock(t)
		mock.Expect("PING").Reply("PONG")
		members[i].Sender = mock
	}
	client, err := redisfailover.Open(t.Context(), members, redisfailover.Opts{Patience: time.Hour, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, client.SwitchTo("far"))
	require.NoError(t, testutil.CollectAndCompare(NewFailoverCollector(client), strings.NewReader(`
# HELP redispipe_failover_member_share Share of the keys whose requests go to the member.
# TYPE redispipe_failover_member_share gauge
redispipe_failover_member_share{member="far"} 1
redispipe_failover_member_share{member="near"} 0
# HELP redispipe_failover_member_up 1 if requests could go to the member.
# TYPE redispipe_failover_member_up gauge
redispipe_failover_member_up{member="far"} 1
redispipe_failover_member_up{member="near"} 1
# HELP redispipe_failover_shifts_total Shifts to another member.
# TYPE redispipe_failover_shifts_total counter
redispipe_failover_shifts_total{reason="failed"} 0
redispipe_failover_shifts_total{reason="restored"} 0
redispipe_failover_shifts_total{reason="switched"} 1
`)))
	problems, err := testutil.CollectAndLint(NewFailoverCollector(client))
	require.NoError(t, err)
	require.Empty(t, problems)
}
