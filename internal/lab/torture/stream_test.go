package torture

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// stream is a stream that a consumer group reads while it is being written.
type stream struct {
	*guests
	key     string
	entries atomic.Int64 // number of delivered entries

	mu        sync.Mutex     // guards the fields below
	added     []string       // IDs of added entries
	delivered map[string]int // number of deliveries, by ID
	acked     map[string]bool
}

func newStream(g *guests, tag string) *stream {
	return &stream{guests: g, key: tag + "stream", delivered: map[string]int{}, acked: map[string]bool{}}
}

// begin starts two writers and two readers, which run until ctx ends.
func (s *stream) begin(ctx context.Context, all *sync.WaitGroup) {
	for i := range 2 {
		all.Go(func() { s.write(ctx) })
		reader, err := redis.NewGroupReader(s.Client, redis.GroupOpts{
			Stream: s.key, Group: "group", Consumer: strconv.Itoa(i), Block: patience, Count: 10,
		})
		require.NoError(s.t, err)
		all.Go(func() { s.read(ctx, reader) })
	}
}

func (s *stream) write(ctx context.Context) {
	for ctx.Err() == nil {
		id, err := redis.As[string](redis.SyncCtx{S: s.Client}.Do(context.Background(), "XADD", s.key, "*", "field", "value"))
		if err != nil {
			s.fails("XADD", err)
			continue
		}
		s.mu.Lock()
		s.added = append(s.added, id)
		s.mu.Unlock()
		time.Sleep(guestPause)
	}
}

func (s *stream) read(ctx context.Context, reader *redis.GroupReader) {
	var mine []string // IDs acknowledged since the last Flush
	for msg, err := range reader.Messages(ctx) {
		if err != nil {
			// A master that becomes a replica closes the connections of blocked clients.
			if lost := redis.AsErrorx(err).IsOfType(redis.ErrIO); !lost && !s.lossy && ctx.Err() == nil {
				s.t.Errorf("the group: %q: %v", msg.ID, err)
			}
			continue
		}
		s.mu.Lock()
		if s.acked[msg.ID] && !s.lossy {
			s.t.Errorf("%s was delivered after it was acknowledged", msg.ID)
		}
		s.delivered[msg.ID]++
		s.mu.Unlock()
		s.entries.Add(1)
		if err := reader.Ack(msg.ID); err != nil {
			s.t.Errorf("Ack: %v", err)
		}
		if mine = append(mine, msg.ID); len(mine) < 20 {
			continue
		}
		if err := reader.Flush(context.Background()); err != nil {
			s.fails("Flush", err)
			continue
		}
		s.mu.Lock()
		for _, id := range mine {
			s.acked[id] = true
		}
		s.mu.Unlock()
		mine = nil
	}
}

// verify requires that each entry on the servers was delivered, is pending, or was not read yet.
func (s *stream) verify() {
	client := redis.SyncCtx{S: s.Client}
	left, err := redis.As[[]redis.Entry[any]](client.Do(context.Background(), "XRANGE", s.key, "-", "+"))
	require.NoError(s.t, err)
	if s.lossy {
		s.added = s.added[:0]
		for _, e := range left {
			s.added = append(s.added, e.ID)
		}
	}
	require.Len(s.t, left, len(s.added))
	rest, err := redis.NewGroupReader(s.Client, redis.GroupOpts{
		Stream: s.key, Group: "group", Consumer: "rest", MinIdle: restMinIdle,
	})
	require.NoError(s.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pending := func() int {
		n, err := redis.As[[]any](client.Do(ctx, "XPENDING", s.key, "group"))
		require.NoError(s.t, err)
		return int(n[0].(int64))
	}
	missing := func() (n int) {
		for _, id := range s.added {
			if s.delivered[id] == 0 {
				n++
			}
		}
		return n
	}
	if missing() == 0 && pending() == 0 {
		return
	}
	require.Eventually(s.t, func() bool { // so that the first pass claims all of them
		idle, err := redis.As[[]any](client.Do(ctx, "XPENDING", s.key, "group", "IDLE", restMinIdle.Milliseconds(), "-", "+", len(s.added)))
		return err == nil && len(idle) == pending()
	}, patience, time.Millisecond)
	for msg, err := range rest.Messages(ctx) {
		if redis.AsErrorx(err).IsOfType(redis.ErrIO) && ctx.Err() == nil {
			continue // if the client gets little processor time, no node answers it in time: it reads again
		}
		require.NoError(s.t, err)
		require.True(s.t, s.lossy || !s.acked[msg.ID], msg.ID)
		s.delivered[msg.ID]++
		require.NoError(s.t, rest.Ack(msg.ID))
		require.NoError(s.t, rest.Flush(ctx))
		if missing() == 0 && pending() == 0 {
			break
		}
	}
	require.Zero(s.t, missing(), "delivered to nobody")
}

// restMinIdle is longer than the time of two answers to a client with little processor time. A
// reader drops entries that it has claimed longer ago than that, and claims them again two seconds
// later. With a shorter time it might never deliver them.
const restMinIdle = 500 * time.Millisecond
