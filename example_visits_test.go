package redispipe_test

import (
	"context"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
)

// Visits is the part of a service that counts page views in Redis.
type Visits struct {
	DB *redispipe.Client
}

// Count records a visit to a page and returns the number of visits so far.
func (v Visits) Count(ctx context.Context, page string) (int64, error) {
	var n int64
	err := v.DB.DoInto(ctx, &n, "HINCRBY", "visits", page, 1)
	return n, err
}

// All returns the number of visits to each page.
func (v Visits) All(ctx context.Context) (map[string]int64, error) {
	return redis.As[map[string]int64](v.DB.Do(ctx, "HGETALL", "visits"))
}
