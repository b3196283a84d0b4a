package torture

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
)

// urls are URLs from users' settings, which they may pass as addresses by mistake.
var urls = []string{
	"redis://user:" + canaryPassword + "@127.0.0.1:1/0",
	"redis://:" + canaryPassword + "@127.0.0.1:1",
	"rediss://127.0.0.1:1?password=" + canaryPassword,
	"REDIS://127.0.0.1:1/0#" + canaryPassword,
	"valkey://" + canaryPassword + "@host",
	"redis:/user:" + canaryPassword + "@127.0.0.1:1",
	"redis:user:" + canaryPassword + "@127.0.0.1:1",
	"redis-sentinel://:" + canaryPassword + "@127.0.0.1:1/main",
	"http://" + canaryPassword,
	"tcp://user:" + canaryPassword + "@127.0.0.1:1",
	"tcp://" + canaryPassword + "@127.0.0.1:1",
	"tcp://127.0.0.1:1?password=" + canaryPassword,
	"unix://user:" + canaryPassword + "@/no/such/socket",
	"unix://:" + canaryPassword + "/slash@/no/such/socket",
	"unix:///no/such/socket?password=" + canaryPassword,
	"UNIX://user:" + canaryPassword + "@/no/such/socket",
	"//user:" + canaryPassword + "@127.0.0.1:1/0",
	"user:" + canaryPassword + "@127.0.0.1:1",
	canaryPassword + "@127.0.0.1:1",
	"127.0.0.1:1,password=" + canaryPassword,
	"127.0.0.1,password=" + canaryPassword,
	"127.0.0.1:1:" + canaryPassword,
	"127.0.0.1:1/" + canaryPassword,
	"127.0.0.1:1 " + canaryPassword,
}

// clusterEvents is a logger that keeps the events of a cluster in every form.
type clusterEvents struct {
	rediscluster.NoopLogger
	notebook
	slog rediscluster.Logger
}

func newClusterEvents() *clusterEvents {
	e := &clusterEvents{}
	e.slog = rediscluster.NewSlogLogger(slog.New(slog.NewJSONHandler(e, nil)))
	return e
}

// Report implements rediscluster.Logger.
func (e *clusterEvents) Report(c *rediscluster.Cluster, event rediscluster.LogEvent) {
	fmt.Fprintf(e, "%s %v %#v %v %T %+v %+v\n", c.Name(), c, c, event, event, event, c.Stats())
	e.slog.Report(c, event)
}

// T21: a URL that is passed as an address is refused, and not shown.
func TestT21Addresses(t *testing.T) {
	o := overheard{t}
	events := newClusterEvents()
	hosts := redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: 50 * time.Millisecond, ReconnectPause: -1}
	clusters := rediscluster.Opts{Logger: events, HostOpts: hosts}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, url := range urls {
		for name, make := range map[string]func() (fmt.Stringer, error){
			"Connect": func() (fmt.Stringer, error) { return redisconn.Connect(ctx, url, hosts) },
			"Connect with AsyncDial": func() (fmt.Stringer, error) {
				async := hosts
				async.AsyncDial = true
				return redisconn.Connect(ctx, url, async)
			},
			"NewCluster": func() (fmt.Stringer, error) { return rediscluster.NewCluster(ctx, []string{url}, clusters) },
			"NewCluster with another": func() (fmt.Stringer, error) {
				return rediscluster.NewCluster(ctx, []string{"127.0.0.1:1", url}, clusters)
			},
			"NewReplicated": func() (fmt.Stringer, error) {
				return rediscluster.NewReplicated(ctx, []string{url}, clusters)
			},
			"NewSentinel": func() (fmt.Stringer, error) {
				return rediscluster.NewSentinel(ctx, []string{url}, "main", clusters)
			},
		} {
			_, err := make()
			require.Error(t, err, "%s: %s", name, url)
			require.NoError(t, ctx.Err(), "%s: %s is not refused at once", name, url)
			o.hear(err)
		}
		for _, dumb := range []*redisdumb.Conn{{Addr: url}, {Addr: url, TLSEnabled: true}, {Addr: "127.0.0.1:1", TLSEnabled: true, TlsAddr: url}} {
			dumb.Timeout = 50 * time.Millisecond
			res := dumb.Do("PING")
			require.Error(t, redis.AsError(res), url)
			o.hear(res)
		}
		_, err := redisclusterutil.Resolve(url)
		require.Error(t, err, url)
		o.hear(err)
		if _, err = redisclusterutil.GetHost(url); err != nil {
			o.hear(err)
		}
	}
	o.check(events.Text())
}

// T21: a URL that Opts.Addrs returns is also refused, and not shown.
func TestT21AddrsFunc(t *testing.T) {
	beside(t)
	o := overheard{t}
	events := newClusterEvents()
	for _, url := range urls {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := rediscluster.NewReplicated(ctx, nil, rediscluster.Opts{
			Logger: events, HostOpts: redisconn.Opts{IOTimeout: 50 * time.Millisecond},
			Addrs: func(context.Context) ([]string, error) { return []string{"127.0.0.1:1", url}, nil },
		})
		cancel()
		require.Error(t, err, url)
		o.hear(err)
	}
	o.check(events.Text())
	require.NotEmpty(t, events.Text())
}
