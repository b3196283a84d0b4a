package redisconn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestRoleIsCheckedBeforeAnythingIsSent(t *testing.T) {
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	master, replica := g.Servers()[0], g.Servers()[1]
	opts := redisconn.Opts{ReconnectPause: -1, Logger: redisconn.NoopLogger{}}

	opts.Role = redisconn.RoleReplica
	_, err := redisconn.Connect(background, master.Addr(), opts)
	requireNotSent(t, err, redisconn.ErrRole)
	connect(t, replica.Addr(), opts)
	opts.Role = redisconn.RoleMaster
	_, err = redisconn.Connect(background, replica.Addr(), opts)
	requireNotSent(t, err, redisconn.ErrRole)
	opts.ReconnectPause = 0
	conn := connect(t, master.Addr(), opts)

	// After the failover, requests are not sent: the server is no longer a master.
	require.NoError(t, g.Promote(replica))
	require.NoError(t, redis.AsError(master.Do("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes")))
	require.Eventually(t, func() bool {
		err := redis.AsErrorx(redis.Sync{S: conn}.Do("GET", "key"))
		return err != nil && err.HasTrait(redis.ErrTraitNotSent)
	}, 20*time.Second, time.Millisecond)
}

func TestRoleOfAUserThatMayNotAsk(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{ACL: []string{"app on >secret ~* +@all -role"}})
	connect(t, s.Addr(), redisconn.Opts{Username: "app", Password: "secret", Role: redisconn.RoleReplica})
}
