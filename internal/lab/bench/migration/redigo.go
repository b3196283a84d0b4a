package migration

import (
	"context"
	"encoding/json"

	"github.com/gomodule/redigo/redis"
)

type onRedigo struct {
	pool *redis.Pool
	load loader
}

func newOnRedigo(_ context.Context, url string, load loader) (Service, error) {
	return &onRedigo{&redis.Pool{
		MaxIdle: 10,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, url)
		},
	}, load}, nil
}

// do sends one command on a connection of the pool.
func (s *onRedigo) do(ctx context.Context, cmd string, args ...any) (any, error) {
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return redis.DoContext(conn, ctx, cmd, args...)
}

func (s *onRedigo) User(ctx context.Context, id string) (u User, err error) {
	cached, err := redis.Bytes(s.do(ctx, "GET", "user:"+id))
	if err == nil {
		return u, json.Unmarshal(cached, &u)
	}
	if u, err = s.load(ctx, id); err != nil {
		return u, err
	}
	if cached, err = json.Marshal(u); err != nil {
		return u, err
	}
	_, err = s.do(ctx, "SET", "user:"+id, cached, "EX", int(userTTL.Seconds()))
	return u, err
}

func (s *onRedigo) SaveSession(ctx context.Context, id string, session Session) error {
	key := "session:" + id
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.Send("MULTI")
	conn.Send("DEL", key)
	conn.Send("HSET", redis.Args{}.Add(key).AddFlat(&session)...)
	conn.Send("EXPIRE", key, int(sessionTTL.Seconds()))
	_, err = redis.DoContext(conn, ctx, "EXEC")
	return err
}

func (s *onRedigo) Session(ctx context.Context, id string) (session Session, err error) {
	fields, err := redis.Values(s.do(ctx, "HGETALL", "session:"+id))
	if err != nil {
		return session, err
	}
	if len(fields) == 0 {
		return session, ErrNoSession
	}
	return session, redis.ScanStruct(fields, &session)
}

func (s *onRedigo) Score(ctx context.Context, player string, points float64) (float64, error) {
	return redis.Float64(s.do(ctx, "ZINCRBY", "board", points, player))
}

func (s *onRedigo) Top(ctx context.Context, n int) (top []Rank, err error) {
	flat, err := redis.Values(s.do(ctx, "ZREVRANGE", "board", 0, n-1, "WITHSCORES"))
	if err != nil {
		return nil, err
	}
	return top, redis.ScanSlice(flat, &top)
}

func (s *onRedigo) Purge(ctx context.Context, pattern string) (n int, err error) {
	for cursor := "0"; ; {
		page, err := redis.Values(s.do(ctx, "SCAN", cursor, "MATCH", pattern, "COUNT", 100))
		if err != nil {
			return n, err
		}
		var keys []string
		if _, err := redis.Scan(page, &cursor, &keys); err != nil {
			return n, err
		}
		for _, key := range keys {
			if _, err := s.do(ctx, "UNLINK", key); err != nil {
				return n, err
			}
			n++
		}
		if cursor == "0" {
			return n, nil
		}
	}
}

func (s *onRedigo) Close() { s.pool.Close() }
