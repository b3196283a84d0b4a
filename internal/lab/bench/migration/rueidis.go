package migration

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/redis/rueidis"
)

type onRueidis struct {
	db   rueidis.Client
	load loader
}

func newOnRueidis(_ context.Context, url string, load loader) (Service, error) {
	opts, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	db, err := rueidis.NewClient(opts)
	if err != nil {
		return nil, err
	}
	return &onRueidis{db, load}, nil
}

func (s *onRueidis) User(ctx context.Context, id string) (u User, err error) {
	err = s.db.Do(ctx, s.db.B().Get().Key("user:"+id).Build()).DecodeJSON(&u)
	if err == nil {
		return u, nil
	}
	if u, err = s.load(ctx, id); err != nil {
		return u, err
	}
	cached, err := json.Marshal(u)
	if err != nil {
		return u, err
	}
	return u, s.db.Do(ctx, s.db.B().Set().Key("user:"+id).Value(rueidis.BinaryString(cached)).Ex(userTTL).Build()).Error()
}

func (s *onRueidis) SaveSession(ctx context.Context, id string, session Session) error {
	key := "session:" + id
	return s.db.Dedicated(func(c rueidis.DedicatedClient) error {
		for _, res := range c.DoMulti(ctx,
			c.B().Multi().Build(),
			c.B().Del().Key(key).Build(),
			c.B().Hset().Key(key).FieldValue().
				FieldValue("user", session.User).
				FieldValue("visits", strconv.FormatInt(session.Visits, 10)).Build(),
			c.B().Expire().Key(key).Seconds(int64(sessionTTL.Seconds())).Build(),
			c.B().Exec().Build(),
		) {
			if err := res.Error(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *onRueidis) Session(ctx context.Context, id string) (session Session, err error) {
	fields, err := s.db.Do(ctx, s.db.B().Hgetall().Key("session:"+id).Build()).AsStrMap()
	if err != nil {
		return session, err
	}
	if len(fields) == 0 {
		return session, ErrNoSession
	}
	session.User = fields["user"]
	session.Visits, err = strconv.ParseInt(fields["visits"], 10, 64)
	return session, err
}

func (s *onRueidis) Score(ctx context.Context, player string, points float64) (float64, error) {
	return s.db.Do(ctx, s.db.B().Zincrby().Key("board").Increment(points).Member(player).Build()).AsFloat64()
}

func (s *onRueidis) Top(ctx context.Context, n int) (top []Rank, err error) {
	members, err := s.db.Do(ctx, s.db.B().Zrevrange().Key("board").Start(0).Stop(int64(n-1)).Withscores().Build()).AsZScores()
	for _, m := range members {
		top = append(top, Rank{m.Member, m.Score})
	}
	return top, err
}

func (s *onRueidis) Purge(ctx context.Context, pattern string) (n int, err error) {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, err := s.db.Do(ctx, s.db.B().Scan().Cursor(cursor).Match(pattern).Count(100).Build()).AsScanEntry()
		if err != nil {
			return n, err
		}
		for _, key := range page.Elements {
			if err := s.db.Do(ctx, s.db.B().Unlink().Key(key).Build()).Error(); err != nil {
				return n, err
			}
			n++
		}
		cursor = page.Cursor
	}
	return n, nil
}

func (s *onRueidis) Close() { s.db.Close() }
