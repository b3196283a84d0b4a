package migration

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"
)

type onGoRedis struct {
	db   *redis.Client
	load loader
}

func newOnGoRedis(_ context.Context, url string, load loader) (Service, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &onGoRedis{redis.NewClient(opts), load}, nil
}

func (s *onGoRedis) User(ctx context.Context, id string) (u User, err error) {
	cached, err := s.db.Get(ctx, "user:"+id).Bytes()
	if err == nil {
		return u, json.Unmarshal(cached, &u)
	}
	if u, err = s.load(ctx, id); err != nil {
		return u, err
	}
	if cached, err = json.Marshal(u); err != nil {
		return u, err
	}
	return u, s.db.Set(ctx, "user:"+id, cached, userTTL).Err()
}

func (s *onGoRedis) SaveSession(ctx context.Context, id string, session Session) error {
	key := "session:" + id
	_, err := s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, key)
		p.HSet(ctx, key, session)
		p.Expire(ctx, key, sessionTTL)
		return nil
	})
	return err
}

func (s *onGoRedis) Session(ctx context.Context, id string) (session Session, err error) {
	fields := s.db.HGetAll(ctx, "session:"+id)
	if err := fields.Err(); err != nil {
		return session, err
	}
	if len(fields.Val()) == 0 {
		return session, ErrNoSession
	}
	return session, fields.Scan(&session)
}

func (s *onGoRedis) Score(ctx context.Context, player string, points float64) (float64, error) {
	return s.db.ZIncrBy(ctx, "board", points, player).Result()
}

func (s *onGoRedis) Top(ctx context.Context, n int) (top []Rank, err error) {
	members, err := s.db.ZRevRangeWithScores(ctx, "board", 0, int64(n-1)).Result()
	for _, m := range members {
		top = append(top, Rank{m.Member.(string), m.Score})
	}
	return top, err
}

func (s *onGoRedis) Purge(ctx context.Context, pattern string) (n int, err error) {
	it := s.db.Scan(ctx, 0, pattern, 100).Iterator()
	for it.Next(ctx) {
		if err := s.db.Unlink(ctx, it.Val()).Err(); err != nil {
			return n, err
		}
		n++
	}
	return n, it.Err()
}

func (s *onGoRedis) Close() { s.db.Close() }
