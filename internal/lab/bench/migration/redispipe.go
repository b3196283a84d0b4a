package migration

import (
	"context"
	"encoding/json"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
)

type onRedispipe struct {
	db   *redispipe.Client
	load loader
}

func newOnRedispipe(ctx context.Context, url string, load loader) (Service, error) {
	db, err := redispipe.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &onRedispipe{db, load}, nil
}

func (s *onRedispipe) User(ctx context.Context, id string) (u User, err error) {
	var cached []byte
	err = s.db.DoInto(ctx, &cached, "GET", "user:"+id)
	if err == nil && cached != nil {
		return u, json.Unmarshal(cached, &u)
	}
	if u, err = s.load(ctx, id); err != nil {
		return u, err
	}
	if cached, err = json.Marshal(u); err != nil {
		return u, err
	}
	return u, redis.Err(s.db.Do(ctx, "SET", "user:"+id, cached, "EX", userTTL))
}

func (s *onRedispipe) SaveSession(ctx context.Context, id string, session Session) error {
	key := "session:" + id
	_, err := s.db.Transact(ctx, []redis.Request{
		redis.Req("DEL", key),
		redis.Req("HSET", redis.Args(key, session)...),
		redis.Req("EXPIRE", key, sessionTTL),
	})
	return err
}

func (s *onRedispipe) Session(ctx context.Context, id string) (Session, error) {
	found, err := redis.As[*Session](s.db.Do(ctx, "HGETALL", "session:"+id))
	if err != nil {
		return Session{}, err
	}
	if found == nil {
		return Session{}, ErrNoSession
	}
	return *found, nil
}

func (s *onRedispipe) Score(ctx context.Context, player string, points float64) (sum float64, err error) {
	err = s.db.DoInto(ctx, &sum, "ZINCRBY", "board", points, player)
	return sum, err
}

func (s *onRedispipe) Top(ctx context.Context, n int) (top []Rank, err error) {
	var members []redis.Scored[string]
	err = s.db.DoInto(ctx, &members, "ZREVRANGE", "board", 0, n-1, "WITHSCORES")
	for _, m := range members {
		top = append(top, Rank{m.Member, m.Score})
	}
	return top, err
}

func (s *onRedispipe) Purge(ctx context.Context, pattern string) (n int, err error) {
	for key, err := range redis.Keys(ctx, s.db, redis.ScanOpts{Match: pattern, Count: 100}) {
		if err != nil {
			return n, err
		}
		if err := redis.Err(s.db.Do(ctx, "UNLINK", key)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *onRedispipe) Close() { s.db.Close() }
