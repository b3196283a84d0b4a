package migration

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"
)

type onRadix struct {
	db   radix.Client
	load loader
}

func newOnRadix(ctx context.Context, url string, load loader) (Service, error) {
	db, err := (radix.PoolConfig{}).New(ctx, "tcp", strings.TrimPrefix(url, "redis://"))
	if err != nil {
		return nil, err
	}
	return &onRadix{db, load}, nil
}

func (s *onRadix) User(ctx context.Context, id string) (u User, err error) {
	var cached []byte
	maybe := radix.Maybe{Rcv: &cached}
	err = s.db.Do(ctx, radix.Cmd(&maybe, "GET", "user:"+id))
	if err == nil && !maybe.Null {
		return u, json.Unmarshal(cached, &u)
	}
	if u, err = s.load(ctx, id); err != nil {
		return u, err
	}
	if cached, err = json.Marshal(u); err != nil {
		return u, err
	}
	return u, s.db.Do(ctx, radix.FlatCmd(nil, "SET", "user:"+id, cached, "EX", int(userTTL.Seconds())))
}

func (s *onRadix) SaveSession(ctx context.Context, id string, session Session) error {
	key := "session:" + id
	return s.db.Do(ctx, radix.WithConn(key, func(ctx context.Context, c radix.Conn) error {
		tx := radix.NewPipeline()
		tx.Append(radix.Cmd(nil, "MULTI"))
		tx.Append(radix.Cmd(nil, "DEL", key))
		tx.Append(radix.FlatCmd(nil, "HSET", key, session))
		tx.Append(radix.FlatCmd(nil, "EXPIRE", key, int(sessionTTL.Seconds())))
		tx.Append(radix.Cmd(nil, "EXEC"))
		return c.Do(ctx, tx)
	}))
}

func (s *onRadix) Session(ctx context.Context, id string) (session Session, err error) {
	err = s.db.Do(ctx, radix.Cmd(&session, "HGETALL", "session:"+id))
	if err == nil && session == (Session{}) {
		return session, ErrNoSession
	}
	return session, err
}

func (s *onRadix) Score(ctx context.Context, player string, points float64) (sum float64, err error) {
	err = s.db.Do(ctx, radix.FlatCmd(&sum, "ZINCRBY", "board", points, player))
	return sum, err
}

func (s *onRadix) Top(ctx context.Context, n int) (top []Rank, err error) {
	var flat []string
	if err := s.db.Do(ctx, radix.FlatCmd(&flat, "ZREVRANGE", "board", 0, n-1, "WITHSCORES")); err != nil {
		return nil, err
	}
	if len(flat)%2 != 0 {
		return nil, errors.New("a member without a score")
	}
	for i := 0; i < len(flat); i += 2 {
		score, err := strconv.ParseFloat(flat[i+1], 64)
		if err != nil {
			return nil, err
		}
		top = append(top, Rank{flat[i], score})
	}
	return top, nil
}

func (s *onRadix) Purge(ctx context.Context, pattern string) (n int, err error) {
	it := (radix.ScannerConfig{Command: "SCAN", Pattern: pattern, Count: 100}).New(s.db)
	for key := ""; it.Next(ctx, &key); n++ {
		if err := s.db.Do(ctx, radix.Cmd(nil, "UNLINK", key)); err != nil {
			return n, err
		}
	}
	return n, it.Close()
}

func (s *onRadix) Close() { s.db.Close() }
