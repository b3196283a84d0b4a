package h2h

import (
	"context"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

var redispipe = entry{
	name: "redispipe", module: "github.com/joomcode/redispipe", safest: "Integrity", sentinel: true,
	open: func(t target) (Subject, error) {
		opts := redisconn.Opts{Logger: redisconn.NoopLogger{}, Integrity: t.Safest}
		ctx := context.Background()
		var s redis.Sender
		var err error
		if len(t.Sentinels) > 0 {
			s, err = rediscluster.NewSentinel(ctx, t.Sentinels, masterName,
				rediscluster.Opts{HostOpts: opts, Logger: rediscluster.NoopLogger{}})
		} else {
			s, err = redisconn.Connect(ctx, t.Addr, opts)
		}
		return redispipeSubject{redis.SyncCtx{S: s}}, err
	},
	notSent: func(err error) bool {
		e := redis.AsErrorx(err)
		return e != nil && e.HasTrait(redis.ErrTraitNotSent)
	},
}

type redispipeSubject struct{ s redis.SyncCtx }

func (s redispipeSubject) Do(ctx context.Context, args ...string) (any, error) {
	res := s.s.Do(ctx, args[0], anys(args[1:])...)
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	return normal(res), nil
}

func (s redispipeSubject) Close() { s.s.S.Close() }
