package h2h

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

var rueidisDefault = entry{
	name: "rueidis", module: "github.com/redis/rueidis", sentinel: true,
	safest: "DisableRetry, ConnWriteTimeout 1 s",
	open: func(t target) (Subject, error) {
		opts := rueidis.ClientOption{InitAddress: []string{t.Addr}, ForceSingleClient: true}
		if len(t.Sentinels) > 0 {
			opts.InitAddress, opts.ForceSingleClient = t.Sentinels, false
			opts.Sentinel = rueidis.SentinelOption{MasterSet: masterName}
		}
		if t.Safest {
			opts.DisableRetry, opts.ConnWriteTimeout = true, time.Second
		}
		c, err := rueidis.NewClient(opts)
		if err != nil {
			return nil, err
		}
		return rueidisSubject{c}, nil
	},
}

type rueidisSubject struct{ c rueidis.Client }

func (s rueidisSubject) Do(ctx context.Context, args ...string) (any, error) {
	res := s.c.Do(ctx, s.c.B().Arbitrary(args[0]).Args(args[1:]...).Build())
	v, err := res.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return normal(v), err
}

func (s rueidisSubject) Close() { s.c.Close() }
