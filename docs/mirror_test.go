package docs_test

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redismirror"
)

// What the page shows for databases that do not exist.
var (
	_ = func(ctx context.Context, from, to redis.Sender) error {
		m, err := redismirror.New(from, to, redismirror.Opts{Reads: 0.01})
		if err != nil {
			return err
		}
		db := redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
		err = redis.Err(db.Do(ctx, "SET", "key", "value"))
		return err
	}
	_ = func(ctx context.Context, m *redismirror.Mirror) error {
		if _, err := m.Copy(ctx, redis.ScanOpts{}); err != nil {
			return err
		}
		for _, share := range []float64{0.01, 0.1, 0.5, 1} {
			if _, err := m.Repair(ctx); err != nil { // first look at m.Findings
				return err
			}
			if err := m.CutOver(ctx, share); err != nil {
				return err
			}
			time.Sleep(time.Hour) // and look at m.Stats
		}
		return nil
	}
)
