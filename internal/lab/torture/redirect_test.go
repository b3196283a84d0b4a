package torture

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// fakeNodes are scripted servers that pretend to be a cluster. The first one has slots 0 to 8191,
// the second one has the others. answer answers GET.
type fakeNodes struct {
	nodes [2]*chaos.ScriptedServer
}

const canaryPassword = "canary-password-7f3a91"

func newFakeNodes(t *testing.T, answer func(f *fakeNodes, node int, key string) string) *fakeNodes {
	f := &fakeNodes{}
	for i := range f.nodes {
		f.nodes[i] = chaos.NewScripted(t, chaos.ScriptedOpts{
			Password: canaryPassword,
			Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := "-ERR unknown command\r\n"
				switch {
				case r.Cmd == "CLUSTER" && strings.EqualFold(r.Args[0], "SLOTS"):
					reply = "*2\r\n" + f.shard(0, 0, 8191) + f.shard(1, 8192, 16383)
				case r.Cmd == "ASKING":
					reply = "+OK\r\n"
				case r.Cmd == "GET":
					reply = answer(f, i, r.Args[0])
				}
				_, err := io.WriteString(c, reply)
				return err
			},
		})
	}
	return f
}

func (f *fakeNodes) shard(node, first, last int) string {
	host, port, _ := net.SplitHostPort(f.nodes[node].Addr())
	return fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n%s:%s\r\n%s", first, last,
		chaos.ScriptedBulk(host), port, chaos.ScriptedBulk(strings.Repeat(fmt.Sprint(node), 40)))
}

// gets returns the number of GETs that reached the nodes.
func (f *fakeNodes) gets() int {
	n := 0
	for _, node := range f.nodes {
		for _, r := range node.Requests() {
			if r.Cmd == "GET" {
				n++
			}
		}
	}
	return n
}

// T15: redirects lead nowhere, or to a wrong server. Key "a" is in slot 15495, which the second
// node has.
func TestT15Redirects(t *testing.T) {
	beside(t)
	const movedRetries = 3
	evil := chaos.NewScripted(t, chaos.ScriptedOpts{})
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':'):] }
	for name, tt := range map[string]struct {
		answer func(f *fakeNodes, node int, key string) string
		value  string // the expected value; empty means an error
	}{
		"to itself": {answer: func(f *fakeNodes, node int, _ string) string {
			return "-MOVED 15495 " + f.nodes[node].Addr() + "\r\n"
		}},
		"in a circle": {answer: func(f *fakeNodes, node int, _ string) string {
			return "-MOVED 15495 " + f.nodes[1-node].Addr() + "\r\n"
		}},
		"ASK in a circle": {answer: func(f *fakeNodes, node int, _ string) string {
			return "-ASK 15495 " + f.nodes[1-node].Addr() + "\r\n"
		}},
		"to the host that answered": {answer: func(f *fakeNodes, node int, _ string) string {
			if node == 0 {
				return "$5\r\nfound\r\n"
			}
			return "-MOVED 15495 " + port(f.nodes[0].Addr()) + "\r\n"
		}, value: "found"},
		"to a neighbour": {answer: func(f *fakeNodes, node int, _ string) string {
			if node == 0 {
				return "$5\r\nfound\r\n"
			}
			return "-ASK 15495 " + f.nodes[0].Addr() + "\r\n"
		}, value: "found"},
		"MOVED to a stranger": {answer: func(*fakeNodes, int, string) string { return "-MOVED 15495 " + evil.Addr() + "\r\n" }},
		"ASK a stranger":      {answer: func(*fakeNodes, int, string) string { return "-ASK 15495 " + evil.Addr() + "\r\n" }},
		"unroutable":          {answer: func(*fakeNodes, int, string) string { return "-MOVED 1 10.9.9.9:1\r\n" }},
		"ASK foo":             {answer: func(*fakeNodes, int, string) string { return "-ASK foo\r\n" }},
		"MOVED":               {answer: func(*fakeNodes, int, string) string { return "-MOVED\r\n" }},
		"slot too great":      {answer: func(*fakeNodes, int, string) string { return "-MOVED 16384 127.0.0.1:1\r\n" }},
		"negative slot":       {answer: func(*fakeNodes, int, string) string { return "-MOVED -1 127.0.0.1:1\r\n" }},
		"no address":          {answer: func(*fakeNodes, int, string) string { return "-MOVED 15495 \r\n" }},
		"no port":             {answer: func(*fakeNodes, int, string) string { return "-MOVED 15495 127.0.0.1\r\n" }},
		"port too great":      {answer: func(*fakeNodes, int, string) string { return "-MOVED 15495 127.0.0.1:99999\r\n" }},
	} {
		t.Run(name, func(t *testing.T) {
			family := oracle.NewFamily()
			f := newFakeNodes(t, tt.answer)
			opts := rediscluster.Opts{
				MovedRetries: movedRetries, Logger: rediscluster.NoopLogger{},
				HostOpts: redisconn.Opts{
					Password: canaryPassword, Logger: redisconn.NoopLogger{},
					IOTimeout: 3 * patience, DialTimeout: 2 * time.Second, // DialTimeout is for an address without a server
				},
			}
			var cluster *rediscluster.Cluster
			require.Eventually(t, func() (made bool) {
				var err error
				cluster, err = rediscluster.NewCluster(context.Background(), []string{f.nodes[0].Addr()}, opts)
				return err == nil
			}, patience, time.Millisecond)
			defer cluster.Close()
			ledger := oracle.NewLedger(name)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			id := ledger.Issue(func(res any) error {
				if b, ok := res.([]byte); !ok || tt.value == "" || string(b) != tt.value {
					return fmt.Errorf("got %v", res)
				}
				return nil
			})
			res := redis.SyncCtx{S: cluster}.Do(ctx, "GET", "a")
			ledger.Resolve(res, id)
			require.NoError(t, ctx.Err(), "answered within the hops, not the deadline")
			require.Equal(t, tt.value == "", redis.AsError(res) != nil, "%v", res)
			require.LessOrEqual(t, f.gets(), movedRetries+1, "hops")
			require.NotContains(t, fmt.Sprintf("%v %+v", res, res), canaryPassword)
			cluster.Close()
			report := ledger.Finish(0)
			family.Settle(report, patience, engines...)
			passes(t, report)
		})
	}
	for _, r := range evil.Requests() {
		require.NotContains(t, append(r.Args, r.Cmd), canaryPassword, "credentials went to a stranger")
		require.NotContains(t, []string{"AUTH", "HELLO", "GET"}, r.Cmd, "%v went to a stranger", r)
	}
}

// T15: a script returns a forged MOVED on a real server. A connection and a cluster client survive
// it.
func TestT15ForgedByScript(t *testing.T) {
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: longNodeTimeout})
	r := newClusterRig(t, nodes, 3*patience)
	load := r.Load(4, 0)
	load.Pause = paced
	stop := background(load)
	var forging sync.WaitGroup
	for _, forged := range []string{"MOVED 1 10.9.9.9:1", "MOVED 15495 10.9.9.9:1", "ASK 15495 10.9.9.9:1", "ASK foo", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY"} {
		forging.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			res := redis.SyncCtx{S: r.Client}.Do(ctx, "EVAL", "return redis.error_reply(ARGV[1])", 1, "a", forged)
			assert.Error(t, redis.AsError(res), forged)
			assert.NoError(t, ctx.Err(), forged)
		})
	}
	forging.Wait()
	answers(t, r)
	stop()
	report := judgeCluster(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value), "the other callers see nothing of it")
}
