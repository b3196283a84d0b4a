package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// TestGroupDestroyed checks that a loop gets an error when its group is gone, and then reads the
// whole stream. A loop that ends at that moment does not create the group again.
func TestGroupDestroyed(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 5)
	r := b.reader("a")
	destroy := func() { b.server.Do("XGROUP", "DESTROY", "jobs", "workers") }
	b.take(r, 4, true) // the reader has read one more
	destroy()
	b.server.Do("XDEL", "jobs", b.ids[1])
	ids, failed := b.take(r, 5, true)
	require.Len(t, failed, 1)
	isType(t, redis.ErrGroupDestroyed.New(""), failed[""])
	assert.NotContains(t, failed[""].Error(), "jobs")
	assert.Equal(t, append(b.ids[:1:1], b.ids[2:]...), ids)
	assert.Zero(t, b.pending())

	destroy()
	_, failed = b.take(r, 1, true)
	isType(t, redis.ErrGroupDestroyed.New(""), failed[""])
	groups, err := redis.As[[]any](b.server.Do("XINFO", "GROUPS", "jobs"))
	require.NoError(t, err)
	assert.Empty(t, groups)

	others := b.reader("b")
	b.take(others, 1, true)
	_, failed = b.take(r, 1, true)
	assert.Empty(t, failed, "another has made it")
}

// TestGroupDestroyedBound checks that after their group was destroyed, entries are delivered
// MaxDeliveries times before they go to DeadLetter.
func TestGroupDestroyedBound(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			const entries, tried = 100, 5
			b := newStreamBed(t, entries)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			delivered, dead, n, destroyed := map[string]int{}, map[string]int{}, 0, 0
			r := b.reader("a", func(o *redis.GroupOpts) {
				o.MinIdle, o.MaxDeliveries = 2*time.Second, most // MinIdle is longer than the machine may pause
				o.DeadLetter = func(_ context.Context, msg redis.Message) error {
					dead[msg.ID]++
					assert.Equal(t, most, delivered[msg.ID], "%s is a dead letter", msg.ID)
					if len(dead) == entries {
						cancel()
					}
					return nil
				}
			})
			for msg, err := range r.Messages(ctx) {
				if err != nil {
					isType(t, redis.ErrGroupDestroyed.New(""), err)
					destroyed++
					clear(delivered)
					continue
				}
				delivered[msg.ID]++
				assert.Equal(t, delivered[msg.ID], msg.Deliveries)
				if n++; n == tried {
					b.server.Do("XGROUP", "DESTROY", "jobs", "workers")
				}
			}
			assert.Equal(t, 1, destroyed)
			assert.Len(t, dead, entries, "each was delivered, and is a dead letter")
		})
	}
}

// TestGroupBegunAgain checks that a stream that was deleted and created again is read from its
// beginning, even if new entries have the IDs of old, acknowledged ones.
func TestGroupBegunAgain(t *testing.T) {
	b := newStreamBed(t, 0)
	add := func() {
		for i := 1; i <= 5; i++ {
			require.NoError(t, redis.AsError(b.server.Do("XADD", "jobs", fmt.Sprint(i, "-1"), "n", i)))
		}
	}
	add()
	var got []string
	destroyed := 0
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := b.reader("a")
	for msg, err := range r.Messages(ctx) {
		if err != nil {
			if redis.AsErrorx(err).IsOfType(redis.ErrGroupDestroyed) {
				destroyed++
			}
			continue
		}
		got = append(got, msg.ID)
		require.NoError(t, r.Ack(msg.ID))
		if len(got) == 5 {
			require.NoError(t, r.Flush(ctx))
			b.server.Do("DEL", "jobs")
			add()
		}
		if len(got) == 10 {
			break
		}
	}
	require.NoError(t, ctx.Err(), "got %v", got)
	assert.Equal(t, got[:5], got[5:])
	assert.Equal(t, 1, destroyed, "it is told")
	assert.Zero(t, b.pending())
}

// deadLetters counts the deliveries of each entry, and keeps the IDs that DeadLetter got too early.
type deadLetters struct {
	delivered map[string]int
	early     []string
}

func (d *deadLetters) bound(most int) func(*redis.GroupOpts) {
	d.delivered = map[string]int{}
	return func(o *redis.GroupOpts) {
		o.Count, o.MaxDeliveries = 10, most
		o.DeadLetter = func(_ context.Context, msg redis.Message) error {
			if d.delivered[msg.ID] < most {
				d.early = append(d.early, msg.ID)
			}
			return nil
		}
	}
}

// TestGroupBoundLeft checks that entries that were read but not delivered when the loop ended do
// not count as delivered.
func TestGroupBoundLeft(t *testing.T) {
	for _, most := range []int{1, 3} {
		b, d := newStreamBed(t, 10), &deadLetters{}
		r := b.reader("a", d.bound(most))
		for i := range b.ids {
			ids, failed := b.take(r, 1, true)
			assert.Empty(t, failed)
			assert.Equal(t, b.ids[i:i+1], ids)
			d.delivered[ids[0]]++
		}
		assert.Empty(t, d.early)
		assert.Zero(t, b.pending())
	}
}

// failingAcks is a Sender that fails acknowledgements.
type failingAcks struct {
	redis.Sender
	left int
}

func (s *failingAcks) Send(r redis.Request, cb redis.Future, n uint64) {
	if r.Cmd == "XACK" && s.left > 0 {
		s.left--
		cb.Resolve(redis.ErrIO.New("on purpose"), n)
		return
	}
	s.Sender.Send(r, cb, n)
}

// TestGroupBoundFailures checks that an entry that is read again after a failure counts as one
// delivery.
func TestGroupBoundFailures(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3} {
		b, d := newStreamBed(t, 10), &deadLetters{}
		o := redis.GroupOpts{Stream: "jobs", Group: "workers", Consumer: "a"}
		d.bound(most)(&o)
		acks := &failingAcks{Sender: connectTo(t, b.server.Addr())}
		r, err := redis.NewGroupReader(acks, o)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		failures := 0
		for msg, err := range r.Messages(ctx) {
			if err != nil {
				isType(t, redis.ErrIO.New(""), err)
				failures++
				continue
			}
			d.delivered[msg.ID]++
			assert.Equal(t, 1, msg.Deliveries)
			require.NoError(t, r.Ack(msg.ID))
			if len(d.delivered) == 2 {
				acks.left = 3
				before := time.Now()
				require.Eventually(t, func() bool { return time.Since(before) > 150*time.Millisecond }, 5*time.Second, time.Millisecond)
			}
			if len(d.delivered) == 10 {
				break
			}
		}
		require.NoError(t, ctx.Err())
		assert.Equal(t, 3, failures)
		assert.Empty(t, d.early)
		assert.Zero(t, b.pending())
	}
}

// failingBatches is a Sender that fails two of four batches.
type failingBatches struct {
	redis.Sender
	sent int
}

func (s *failingBatches) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	if s.sent++; s.sent%4 == 0 || s.sent%4 == 3 {
		s.Sender.SendMany(reqs, cb, start)
		return
	}
	for i := range reqs {
		cb.Resolve(redis.ErrIO.New("on purpose"), start+uint64(i))
	}
}

// TestGroupHistoryFailures checks that entries of an earlier loop count as delivered once more, no
// matter how often they are read again.
func TestGroupHistoryFailures(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 7)
	b.take(b.reader("a"), 5, false) // the reader has read one more
	r, err := redis.NewGroupReader(&failingBatches{Sender: connectTo(t, b.server.Addr())},
		redis.GroupOpts{Stream: "jobs", Group: "workers", Consumer: "a", Count: 3})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var ids []string
	for msg, err := range r.Messages(ctx) {
		if err != nil {
			isType(t, redis.ErrIO.New(""), err)
			continue
		}
		if ids = append(ids, msg.ID); len(ids) == 7 {
			assert.Equal(t, 1, msg.Deliveries)
			break
		}
		assert.Equal(t, 2, msg.Deliveries)
	}
	require.NoError(t, ctx.Err())
	assert.Equal(t, b.ids, ids)
}
