package h2h

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

var rueidisDefault = entry{
	name: "rueidis", module: "github.com/redis/rueidis", cluster: true, sentinel: true,
	safest: "DisableRetry, ConnWriteTimeout 1 s, MaxMovedRedirections 3",
	open: func(t target) (Subject, error) {
		opts := rueidis.ClientOption{InitAddress: []string{t.Addr}, ForceSingleClient: !t.Cluster}
		if len(t.Sentinels) > 0 {
			opts.InitAddress, opts.ForceSingleClient = t.Sentinels, false
			opts.Sentinel = rueidis.SentinelOption{MasterSet: masterName}
		}
		if t.Safest {
			opts.DisableRetry, opts.ConnWriteTimeout = true, time.Second
			opts.ClusterOption.MaxMovedRedirections = 3
		}
		c, err := rueidis.NewClient(opts)
		if err != nil {
			return nil, err
		}
		return rueidisSubject{c, t.Cluster}, nil
	},
}

type rueidisSubject struct {
	c       rueidis.Client
	cluster bool
}

func (s rueidisSubject) Do(ctx context.Context, args ...string) (any, error) {
	cmd := s.c.B().Arbitrary(args[0])
	rest := args[1:]
	if s.cluster && len(rest) > 0 {
		cmd, rest = cmd.Keys(rest[0]), rest[1:]
	}
	res := s.c.Do(ctx, cmd.Args(rest...).Build())
	v, err := res.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return normal(v), err
}

func (s rueidisSubject) Close() { s.c.Close() }
