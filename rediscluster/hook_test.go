package rediscluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// answeredBy is a hook that sends the address of each answering server on the channel.
type answeredBy chan string

func (a answeredBy) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (a answeredBy) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	a <- end.Address
}

// If a request is redirected, a hook gets the node that gave the final answer, with every policy and
// every way of sending.
func TestHookSeesLastNode(t *testing.T) {
	target := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := c.Write([]byte("+fine\r\n"))
		return err
	})
	var source *scriptedNode
	source = newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		source.serve(target.Addr())
		_, err := c.Write([]byte("-MOVED 0 " + target.Addr() + "\r\n"))
		return err
	})
	req := redis.Req("SET", "key", 1)
	for name, send := range map[string]func(c *Cluster, hook redis.Hook){
		"waiting": func(c *Cluster, hook redis.Hook) { redis.Sync{S: redis.WithHook(c, hook)}.Send(req) },
		"policy": func(c *Cluster, hook redis.Hook) {
			redis.Sync{S: redis.WithHook(c.WithPolicy(PreferSlaves), hook)}.Send(req)
		},
		"future": func(c *Cluster, hook redis.Hook) { redis.WithHook(c, hook).Send(req, nil, 0) },
		"many": func(c *Cluster, hook redis.Hook) {
			redis.Sync{S: redis.WithHook(c, hook)}.SendMany([]redis.Request{req, req})
		},
		"many futures": func(c *Cluster, hook redis.Hook) { redis.WithHook(c, hook).SendMany([]redis.Request{req, req}, nil, 0) },
	} {
		source.serve(source.Addr())
		c, err := NewCluster(context.Background(), []string{source.Addr()}, Opts{
			CheckInterval: calm.CheckInterval, Logger: NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: patience},
		})
		require.NoError(t, err)
		hook := make(answeredBy, 10)
		send(c, hook)
		assert.Equal(t, target.Addr(), <-hook, name)
		c.Close()
	}
}
