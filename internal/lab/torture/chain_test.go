package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// chain is a list in which each link names the previous one, together with a key that holds the
// last link. So each optimistic transaction depends on the value that it has read.
type chain struct {
	*guests
	head, links string // keys

	mu  sync.Mutex // guards ids
	ids map[string]uint64
}

func newChain(g *guests, tag string) *chain {
	return &chain{guests: g, head: tag + "head", links: tag + "links", ids: map[string]uint64{}}
}

// run adds links until ctx ends.
func (c *chain) run(ctx context.Context, bySession bool) {
	add := c.byWatch
	if bySession {
		add = c.bySession
	}
	for ctx.Err() == nil {
		id := c.Ledger.IssueTagged(func(string) oracle.Check { return oracle.IsCount })
		tag := c.Ledger.Tag(id)
		c.mu.Lock()
		c.ids[tag] = id
		c.mu.Unlock()
		n, results, err := add(tag)
		switch {
		case err != nil:
			c.Ledger.Resolve(redis.AsErrorx(err), id)
			c.fails("a link", err)
		case results[1] != int64(n):
			c.t.Errorf("link %d was committed as the %v.", n, results[1])
			fallthrough
		default:
			c.Ledger.Resolve(results[1], id)
			c.guests.links.Add(1)
		}
		time.Sleep(guestPause)
	}
}

// link returns the requests that add a link behind the head, and the number of the new link. If
// there is no head yet, head is nil.
func (c *chain) link(head *string, tag string) (n int, reqs []redis.Request) {
	before := "-"
	if head != nil {
		_, _ = fmt.Sscan(*head, &n, &before)
	}
	n++
	return n, []redis.Request{
		redis.Req("SET", c.head, fmt.Sprint(n, " ", tag)),
		redis.Req("RPUSH", c.links, fmt.Sprint(n, " ", before, " ", tag)),
	}
}

func (c *chain) byWatch(tag string) (n int, results []any, err error) {
	results, err = redis.WatchAtMost(context.Background(), 1000, c.Client, []string{c.head}, func(tx *redis.Tx) error {
		var head *string
		if err := tx.DoInto(&head, "GET", c.head); err != nil {
			return err
		}
		var reqs []redis.Request
		n, reqs = c.link(head, tag)
		for _, r := range reqs {
			tx.Queue(r.Cmd, r.Args...)
		}
		return nil
	})
	return n, results, err
}

// bySession adds a link like byWatch, but with a session. To begin again, it opens another session.
func (c *chain) bySession(tag string) (n int, results []any, err error) {
	for {
		err = redis.WithSession(context.Background(), c.Client, c.head, func(s *redis.Session) error {
			if err := redis.Err(s.Do("WATCH", c.head)); err != nil {
				return err
			}
			var head *string
			if err := s.DoInto(&head, "GET", c.head); err != nil {
				return err
			}
			if rand.IntN(4) == 0 { // longer than the time for which a session follows ASK
				time.Sleep(time.Duration(rand.IntN(70)) * time.Millisecond)
			}
			var reqs []redis.Request
			n, reqs = c.link(head, tag)
			results, err = s.Transact(reqs)
			return err
		})
		failure := redis.AsErrorx(err)
		again := failure != nil && (failure.HasTrait(redis.ErrTraitClusterMove) || failure.IsOfType(redis.ErrExecEmpty) ||
			failure.IsOfType(redis.ErrTryAgain) || failure.IsOfType(redis.ErrSessionLost))
		if !again {
			return n, results, err
		}
	}
}

// verify compares the list with the acknowledged links.
func (c *chain) verify() {
	links, err := redis.As[[]string](redis.Sync{S: c.Client}.Do("LRANGE", c.links, 0, -1))
	require.NoError(c.t, err)
	last := "-"
	for i, link := range links {
		var n int
		var before, tag string
		_, err := fmt.Sscan(link, &n, &before, &tag)
		require.NoError(c.t, err)
		require.Equal(c.t, i+1, n, link)
		require.Equal(c.t, last, before, link)
		id, left := c.ids[tag]
		require.True(c.t, left, "%s: it is not there twice", link)
		outcome := c.Ledger.Outcome(id)
		require.True(c.t, outcome == oracle.Value || c.lossy && outcome == oracle.Unknown, "%s: %v", link, outcome)
		delete(c.ids, tag)
		last = tag
	}
	require.True(c.t, c.lossy || len(c.ids) == 0, "acknowledged, and not there: %v", c.ids)
}
