package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// streamBed is a server with a stream.
type streamBed struct {
	*testing.T
	server *testbed.Server
	ids    []string
}

func newStreamBed(t *testing.T, entries int) *streamBed {
	b := &streamBed{T: t, server: testbed.NewServer(t)}
	b.add(entries)
	return b
}

func (b *streamBed) add(entries int) {
	b.Helper()
	for range entries {
		id, err := redis.As[string](b.server.Do("XADD", "jobs", "*", "n", len(b.ids)))
		require.NoError(b, err)
		b.ids = append(b.ids, id)
	}
}

// reader returns a reader of the group "workers", on its own connection.
func (b *streamBed) reader(consumer string, change ...func(*redis.GroupOpts)) *redis.GroupReader {
	b.Helper()
	o := redis.GroupOpts{
		Stream: "jobs", Group: "workers", Consumer: consumer,
		Count: 3, Block: 50 * time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	r, err := redis.NewGroupReader(connectTo(b, b.server.Addr()), o)
	require.NoError(b, err)
	return r
}

func soon(o *redis.GroupOpts) { o.MinIdle = 30 * time.Millisecond }

// take reads n entries, and acknowledges them if ack is set. It returns errors together with the
// IDs of their entries.
func (b *streamBed) take(r *redis.GroupReader, n int, ack bool) (ids []string, failed map[string]error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	failed = map[string]error{}
	for msg, err := range r.Messages(ctx) {
		if err != nil {
			failed[msg.ID] = err
		} else {
			ids = append(ids, msg.ID)
			if ack {
				require.NoError(b, r.Ack(msg.ID))
			}
		}
		if len(ids)+len(failed) == n {
			break
		}
	}
	require.NoError(b, ctx.Err(), "%d of %d", len(ids)+len(failed), n)
	return ids, failed
}

// pending returns the number of pending entries: those that were delivered and not acknowledged.
func (b *streamBed) pending() int {
	b.Helper()
	summary, err := redis.As[[]any](b.server.Do("XPENDING", "jobs", "workers"))
	require.NoError(b, err)
	n, err := redis.As[int](summary[0])
	require.NoError(b, err)
	return n
}

func isType(t *testing.T, want error, got error) {
	t.Helper()
	require.Error(t, got)
	assert.Equal(t, redis.AsErrorx(want).Type(), redis.AsErrorx(got).Type(), "%v", got)
}

func TestGroupReader(t *testing.T) {
	b := newStreamBed(t, 5)
	r := b.reader("a")
	ids, failed := b.take(r, 5, true)
	assert.Equal(t, b.ids, ids)
	assert.Empty(t, failed)
	assert.Zero(t, b.pending(), "the end of a loop acknowledges")

	b.add(2)
	ids, _ = b.take(r, 2, false)
	assert.Equal(t, b.ids[5:], ids)
	assert.Equal(t, 2, b.pending())
	require.NoError(t, r.Ack(ids...))
	require.NoError(t, r.Flush(t.Context()))
	assert.Zero(t, b.pending())
	require.NoError(t, r.Flush(t.Context()), "there is nothing")
}

func TestGroupFields(t *testing.T) {
	b := newStreamBed(t, 1)
	for msg, err := range b.reader("a").Messages(t.Context()) {
		require.NoError(t, err)
		fields, err := redis.As[map[string]int](msg.Fields)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"n": 0}, fields)
		assert.Equal(t, 1, msg.Deliveries)
		break
	}
}

// TestGroupHistory checks that a restarted reader first gets its earlier entries again.
func TestGroupHistory(t *testing.T) {
	b := newStreamBed(t, 7)
	ids, _ := b.take(b.reader("a"), 5, false) // each read returns up to three entries, so six are delivered
	assert.Equal(t, b.ids[:5], ids)
	ids, _ = b.take(b.reader("a"), 7, true)
	assert.Equal(t, b.ids, ids)
	assert.Zero(t, b.pending())
}

// TestGroupClaim checks that a reader takes over the entries of a consumer that has stopped.
func TestGroupClaim(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 4)
	b.take(b.reader("dead"), 4, false)
	r := b.reader("a", soon)
	ids, _ := b.take(r, 4, true)
	assert.ElementsMatch(t, b.ids, ids, "whichever has been idle for long enough when it is looked at")
	assert.Zero(t, b.pending())
	consumers, err := redis.As[[]map[string]any](b.server.Do("XINFO", "CONSUMERS", "jobs", "workers"))
	require.NoError(t, err)
	assert.Len(t, consumers, 2, "no consumer is deleted")
}

// TestGroupDeleted checks that an entry that was deleted while it was pending is reported and
// acknowledged, both in the reader's own history and among entries that other consumers left.
func TestGroupDeleted(t *testing.T) {
	t.Parallel()
	for _, consumer := range []string{"dead", "a"} {
		t.Run(consumer, func(t *testing.T) {
			b := newStreamBed(t, 4)
			b.take(b.reader("dead"), 4, false)
			b.server.Do("XDEL", "jobs", b.ids[0], b.ids[2])
			ids, failed := b.take(b.reader(consumer, soon), 4, true)
			assert.ElementsMatch(t, []string{b.ids[1], b.ids[3]}, ids)
			for _, i := range []int{0, 2} {
				isType(t, redis.ErrGroupEntryDeleted.New(""), failed[b.ids[i]])
			}
			assert.Zero(t, b.pending())
		})
	}
}

// TestGroupSlow checks that a reader that is slower than MinIdle does not deliver entries that
// another reader has acknowledged since.
func TestGroupSlow(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 3)
	slow := b.reader("slow", soon)
	var got []string
	for msg, err := range slow.Messages(t.Context()) {
		require.NoError(t, err)
		got = append(got, msg.ID)
		if len(got) == 1 {
			ids, _ := b.take(b.reader("quick", soon), 3, true) // waits until the entries are idle for long enough
			assert.ElementsMatch(t, b.ids, ids)
			b.add(1)
		}
		if msg.ID == b.ids[len(b.ids)-1] {
			break
		}
	}
	assert.Equal(t, []string{b.ids[0], b.ids[3]}, got)
}

// TestGroupSlowDeleted checks that a reader that is slower than MinIdle reports the entries that it
// has found deleted, although it drops the other entries that it has read.
func TestGroupSlowDeleted(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 3)
	b.take(b.reader("slow"), 3, false)
	b.server.Do("XDEL", "jobs", b.ids[2])
	var got, deleted []string
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	slow := b.reader("slow", soon)
	for msg, err := range slow.Messages(ctx) {
		if err == nil {
			got = append(got, msg.ID)
		} else {
			isType(t, redis.ErrGroupEntryDeleted.New(""), err)
			deleted = append(deleted, msg.ID)
		}
		if len(got) == 1 {
			before := time.Now()
			require.Eventually(t, func() bool { return time.Since(before) > 30*time.Millisecond }, 5*time.Second, time.Millisecond)
		}
		assert.NoError(t, slow.Ack(msg.ID))
		if len(got)+len(deleted) == 3 {
			break
		}
	}
	assert.Equal(t, b.ids[:2], got)
	assert.Equal(t, b.ids[2:], deleted)
}

// TestGroupRenew checks that a reader claims again the entries that it is about to deliver.
func TestGroupRenew(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	b := newStreamBed(t, 3)
	r := b.reader("slow", func(o *redis.GroupOpts) { o.MinIdle = lease })
	var got []string
	began := time.Now()
	for msg, err := range r.Messages(t.Context()) {
		require.NoError(t, err)
		got = append(got, msg.ID)
		if len(got) == 3 {
			break
		}
		if len(got) == 1 {
			before := time.Now()
			require.Eventually(t, func() bool { return time.Since(before) > lease/2 }, 5*time.Second, time.Millisecond)
		}
		assert.NoError(t, r.Ack(msg.ID))
	}
	stoodStill := time.Since(began) >= lease // then other readers may have the entries that were read
	assert.Equal(t, b.ids, got)
	n, err := redis.As[[][]any](b.server.Do("XPENDING", "jobs", "workers", "-", "+", 9))
	require.NoError(t, err)
	require.Len(t, n, 1)
	assert.True(t, stoodStill || n[0][3] == int64(1), "renewal is no delivery: %v", n)
}

// TestGroupRenewGone checks entries that are no longer pending when a reader claims them again. The
// reader reports only those that were deleted before they were acknowledged.
func TestGroupRenewGone(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // from this version on, XCLAIM reports deleted entries
	b := newStreamBed(t, 5)
	r := b.reader("slow", func(o *redis.GroupOpts) { o.Count, o.MinIdle = 5, 2*time.Second })
	var got, deleted []string
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for msg, err := range r.Messages(ctx) {
		if err == nil {
			got = append(got, msg.ID)
		} else {
			isType(t, redis.ErrGroupEntryDeleted.New(""), err)
			deleted = append(deleted, msg.ID)
		}
		assert.NoError(t, r.Ack(msg.ID))
		if len(got) == 1 && err == nil {
			b.server.Do("XACK", "jobs", "workers", b.ids[1], b.ids[3])
			b.server.Do("XDEL", "jobs", b.ids[2], b.ids[3])
			before := time.Now()
			require.Eventually(t, func() bool { return time.Since(before) > time.Second }, 5*time.Second, time.Millisecond)
		}
		if len(got)+len(deleted) == 3 {
			break
		}
	}
	assert.Equal(t, []string{b.ids[0], b.ids[4]}, got, "the others were acknowledged")
	assert.Equal(t, b.ids[2:3], deleted)
}

func TestGroupDeadLetter(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t, 2)
	var dead []redis.Message
	refusal := errors.New("no room")
	limit := func(o *redis.GroupOpts) {
		o.MaxDeliveries = 2
		o.DeadLetter = func(_ context.Context, msg redis.Message) error {
			if dead = append(dead, msg); len(dead) == 1 {
				return refusal
			}
			return nil
		}
	}
	for range 2 {
		ids, _ := b.take(b.reader("a", limit), 2, false)
		assert.Equal(t, b.ids, ids)
	}
	_, failed := b.take(b.reader("a", limit), 1, false)
	assert.Equal(t, map[string]error{b.ids[0]: refusal}, failed)
	assert.Equal(t, 2, b.pending(), "a letter that could not be kept stays")
	b.add(1)
	ids, _ := b.take(b.reader("a", limit), 1, true)
	assert.Equal(t, b.ids[2:], ids)
	assert.Zero(t, b.pending())
	require.Len(t, dead, 3)
	assert.Equal(t, b.ids[1], dead[2].ID)
	assert.Greater(t, dead[2].Deliveries, 2)
}

// TestGroupNew checks that a group begins at Start, and that the group is created again after its
// stream was deleted.
func TestGroupNew(t *testing.T) {
	b := newStreamBed(t, 3)
	from := func(o *redis.GroupOpts) { o.Start = b.ids[0] }
	ids, _ := b.take(b.reader("a", from), 2, true)
	assert.Equal(t, b.ids[1:], ids)

	b.server.Do("DEL", "jobs")
	b.ids = nil
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { // after the reader has created the stream again
		assert.Eventually(t, func() bool { return redis.AsError(b.server.Do("XINFO", "GROUPS", "jobs")) == nil }, 10*time.Second, time.Millisecond)
		b.add(2)
	})
	ids, failed := b.take(b.reader("a"), 2, true)
	assert.Empty(t, failed)
	assert.Len(t, ids, 2)
}

// TestGroupStops checks that the loop delivers errors, and which errors end the loop.
func TestGroupStops(t *testing.T) {
	b := newStreamBed(t, 0)
	b.server.Do("SET", "jobs", "canary")
	n := 0
	for msg, err := range b.reader("a").Messages(t.Context()) {
		isType(t, redis.ErrResult.New(""), err)
		assert.Empty(t, msg)
		if n++; n == 3 {
			break
		}
	}

	conn := connectTo(t, b.server.Addr())
	r, err := redis.NewGroupReader(conn, redis.GroupOpts{Stream: "jobs", Group: "g", Consumer: "c"})
	require.NoError(t, err)
	conn.Close()
	n = 0
	for _, err := range r.Messages(t.Context()) {
		isType(t, redis.ErrContextClosed.New(""), err)
		n++
	}
	assert.Equal(t, 1, n, "a closed connection ends the loop")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range b.reader("a").Messages(ctx) {
		t.Error("the context has ended")
	}
}

// TestGroupIdle checks that an idle reader sends at most two commands a second, whether it blocks
// or not.
func TestGroupIdle(t *testing.T) {
	t.Parallel()
	for _, blocks := range []bool{true, false} {
		t.Run(fmt.Sprint("blocks ", blocks), func(t *testing.T) {
			t.Parallel()
			b := newStreamBed(t, 1)
			conn, err := redisconn.Connect(t.Context(), b.server.Addr(), redisconn.Opts{
				DedicatedConns: map[bool]int{false: -1}[blocks], Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute,
			})
			require.NoError(t, err)
			defer conn.Close()
			r, err := redis.NewGroupReader(conn, redis.GroupOpts{Stream: "jobs", Group: "workers", Consumer: "a", MinIdle: time.Second})
			require.NoError(t, err)
			b.take(r, 1, true)
			b.server.Do("CONFIG", "RESETSTAT")
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			for msg, err := range r.Messages(ctx) {
				if !redis.CausedBy(err, context.DeadlineExceeded) { // a request that can't be answered before the deadline may be refused
					t.Error(msg, err)
				}
			}
			took := time.Since(began)
			stats, err := redis.As[string](b.server.Do("INFO", "commandstats"))
			require.NoError(t, err)
			sent := 0
			for _, name := range []string{"xreadgroup", "xautoclaim", "xpending", "xack"} {
				sent += callsOf(stats, name)
			}
			// The loop begins by reading its history, and polls often at first.
			assert.LessOrEqual(t, float64(sent), 10+2*took.Seconds(), stats)
			assert.NotZero(t, sent)
		})
	}
}

func callsOf(stats, name string) (calls int) {
	for line := range strings.Lines(stats) {
		if _, err := fmt.Sscanf(line, "cmdstat_"+name+":calls=%d,", &calls); err == nil {
			return calls
		}
	}
	return 0
}
