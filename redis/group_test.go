package redis

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGroupOpts(t *testing.T) {
	good := GroupOpts{Stream: "s", Group: "g", Consumer: "c"}
	for name, change := range map[string]func(*GroupOpts){
		"no stream":      func(o *GroupOpts) { o.Stream = "" },
		"no group":       func(o *GroupOpts) { o.Group = "" },
		"no consumer":    func(o *GroupOpts) { o.Consumer = "" },
		"only new":       func(o *GroupOpts) { o.Start = "$" },
		"no number":      func(o *GroupOpts) { o.Start = "1-x" },
		"negative":       func(o *GroupOpts) { o.Start = "-1" },
		"no dead letter": func(o *GroupOpts) { o.MaxDeliveries = 3 },
	} {
		o := good
		change(&o)
		_, err := NewGroupReader(nil, o)
		assertType(t, ErrGroupOpts, err, name)
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), name)
	}
	r, err := NewGroupReader(nil, good)
	require.NoError(t, err)
	assert.Equal(t, GroupOpts{
		Stream: "s", Group: "g", Consumer: "c", Start: "0", Count: 100,
		Block: 5 * time.Second, MinIdle: time.Minute,
	}, r.opts)
	good.MinIdle, good.Count = 1, math.MaxInt
	r, err = NewGroupReader(nil, good)
	require.NoError(t, err)
	assert.Equal(t, groupMinIdleLeast, r.opts.MinIdle)
	assert.Equal(t, groupCountMost, r.opts.Count)
}

func TestGroupAckBadID(t *testing.T) {
	r, err := NewGroupReader(nil, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
	require.NoError(t, err)
	for _, id := range []string{"", "canary", "1-", "$", ">", "-", "1-1-1", "99999999999999999999-1"} {
		err := r.Ack("1-1", id)
		assertType(t, ErrGroupEntryID, err, id)
		assertNoSecret(t, err)
	}
	assert.Empty(t, r.acked, "all or none")
	assert.NoError(t, r.Ack("18446744073709551615-18446744073709551615"), "the greatest ID that there is")
}

func TestGroupBusy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	node := &foreignSender{}
	node.send = func(_ Request, cb Future, n uint64) {
		cb.Resolve([]any{[]any{[]byte("s"), []any{[]any{[]byte("1-1"), []any{}}}}}, n)
	}
	node.sendMany = func(_ []Request, cb Future, n uint64) {
		cb.Resolve([]any{[]any{[]byte("1-1"), []byte("c"), int64(1), int64(7)}}, n)
	}
	r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
	require.NoError(t, err)
	for msg, err := range r.Messages(ctx) {
		require.NoError(t, err)
		assert.Equal(t, Message{ID: "1-1", Fields: []any{}, Deliveries: 7}, msg)
		for _, err := range r.Messages(ctx) {
			assertType(t, ErrGroupBusy, err)
		}
		cancel()
	}
	for _, err := range r.Messages(noContext) {
		assertType(t, ErrContextIsNil, err)
	}
}

// TestGroupForgetsWhatItLeft checks that after MinIdle a reader forgets entries that it has
// delivered and that were not acknowledged, because another reader takes them over.
func TestGroupForgetsWhatItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var fresh int
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			switch {
			case r.Cmd == "XAUTOCLAIM":
				cb.Resolve([]any{[]byte(groupBegin), []any{}}, n)
			case r.Args[len(r.Args)-1] == ">" && fresh < 50:
				fresh++
				cb.Resolve([]any{[]any{[]byte("s"), []any{[]any{[]byte(fmt.Sprint(fresh, "-1")), []any{}}}}}, n)
			default:
				time.Sleep(100 * time.Millisecond)
				cb.Resolve(nil, n)
			}
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c", MinIdle: groupMinIdleLeast})
		require.NoError(t, err)
		var delivered int
		go func() {
			for msg, err := range r.Messages(ctx) {
				if assert.NoError(t, err) && assert.True(t, r.isOpen(msg.ID)) {
					delivered++
				}
			}
		}()
		kept := func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.open)
		}
		time.Sleep(150 * time.Millisecond) // in the second read
		assert.Equal(t, 50, kept())
		time.Sleep(10 * time.Second)
		assert.Zero(t, kept())
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, 50, delivered)
	})
}

// TestGroupRenewsLate checks that a reader that claims its entries again reports those that are
// deleted, even if another reader may own the other entries by then.
func TestGroupRenewsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := []any{[]any{[]byte("1-1"), []byte("c"), int64(1), int64(1)}}
		node := &foreignSender{transaction: func(_ []Request, cb Future, n uint64) {
			time.Sleep(6 * time.Second)
			cb.Resolve([]any{pending, pending, []any{[]byte("1-1")}}, n)
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c", MinIdle: 10 * time.Second})
		require.NoError(t, err)
		l := &groupLoop{GroupReader: r, fetched: time.Now(), batch: []groupItem{{Message: Message{ID: "1-1"}}, {Message: Message{ID: "2-1"}}}}
		time.Sleep(5 * time.Second)
		require.NoError(t, l.renew(t.Context()))
		require.Len(t, l.batch, 1)
		assert.Equal(t, "2-1", l.batch[0].ID)
		assertType(t, ErrGroupEntryDeleted, l.batch[0].err)
		assert.Equal(t, "0", l.history, "the rest is read again")
	})
}

// TestGroupPausesGrow checks that a reader whose claims are refused waits longer and longer, even
// if its other reads succeed.
func TestGroupPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			if r.Cmd == "XAUTOCLAIM" {
				cb.Resolve(ErrResult.New("NOPERM"), n)
				return
			}
			cb.Resolve(nil, n)
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		failures := 0
		for _, err := range r.Messages(ctx) {
			assertType(t, ErrResult, err)
			failures++
		}
		assert.Less(t, failures, 100)
	})
}

// TestGroupUnblocked checks that a reader reports no error if the server unblocks its read, which
// then did nothing, and that it repeats the read after a pause.
func TestGroupUnblocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			switch sent++; {
			case r.Cmd == "XAUTOCLAIM":
				cb.Resolve([]any{[]byte(groupBegin), []any{}}, n)
			case r.Args[len(r.Args)-1] == ">":
				cb.Resolve(ErrUnblocked.New("UNBLOCKED"), n)
			default:
				cb.Resolve(nil, n)
			}
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, err := range r.Messages(ctx) {
			t.Error(err)
		}
		assert.Greater(t, sent, 40)
		assert.Less(t, sent, 100)
	})
}

// TestGroupGoneAgain checks that if a reader's group is destroyed each time that the reader has
// created it, the reader's pauses grow.
func TestGroupGoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sent := 0
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			if sent++; sent > 1000 {
				cancel()
			}
			if r.Cmd == "XREADGROUP" {
				cb.Resolve(ErrResult.New(noGroup), n)
				return
			}
			cb.Resolve("OK", n)
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
		require.NoError(t, err)
		for range r.Messages(ctx) {
			t.Error("it is silent about a group that it has never read")
		}
		assert.Less(t, sent, 200)
	})
}

// TestGroupDestroyedAtTheEnd checks that if a loop ends while its group is destroyed, the next loop
// reports that.
func TestGroupDestroyedAtTheEnd(t *testing.T) {
	for range 20 { // whether the answer or the end of the context comes first is random
		ctx, cancel := context.WithCancel(t.Context())
		next, cancelNext := context.WithCancel(t.Context())
		reads := 0
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			switch r.Cmd {
			case "XREADGROUP":
				if reads++; reads > 1 {
					cancel()
					cb.Resolve(ErrResult.New(noGroup), n)
					return
				}
			case "XAUTOCLAIM":
				cb.Resolve([]any{[]byte(groupBegin), []any{}}, n)
				return
			case "XGROUP CREATE":
				cancelNext()
			}
			cb.Resolve(nil, n)
		}}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
		require.NoError(t, err)
		for _, err := range r.Messages(ctx) {
			t.Error(err)
		}
		var told error
		for _, told = range r.Messages(next) {
			cancelNext()
		}
		assertType(t, ErrGroupDestroyed, told)
	}
}

// TestGroupReadsAgainWhatIsPending checks that if another consumer acknowledges an entry while it
// is being read again, the reader does not report the entry as deleted.
func TestGroupReadsAgainWhatIsPending(t *testing.T) {
	for name, c := range map[string]struct {
		owner   string // the consumer that has the entry after it was read again
		batched []groupItem
	}{
		"acknowledged": {"", nil},
		"another's":    {"b", nil},
		"deleted":      {"c", []groupItem{deletedItem("1-1")}},
	} {
		node := &foreignSender{}
		pendingOf := func(owner string) []any {
			return []any{[]any{[]byte("1-1"), []byte(owner), int64(1), int64(1)}}
		}
		node.send = func(_ Request, cb Future, n uint64) { cb.Resolve(pendingOf("c"), n) }
		node.sendMany = func(reqs []Request, cb Future, n uint64) {
			require.Len(t, reqs, 1)
			if reqs[0].Cmd == "XPENDING" && c.owner != "" {
				cb.Resolve(pendingOf(c.owner), n)
				return
			}
			cb.Resolve([]any{}, n)
		}
		r, err := NewGroupReader(node, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
		require.NoError(t, err)
		l := &groupLoop{GroupReader: r, history: "0", counted: "+"}
		require.NoError(t, l.readAgain(t.Context()))
		require.Len(t, l.batch, len(c.batched), name)
		for i, item := range l.batch {
			assert.Equal(t, c.batched[i].Message, item.Message, name)
			assertType(t, ErrGroupEntryDeleted, item.err, name)
		}
	}
}

func TestParseClaimed(t *testing.T) {
	entry := []any{[]byte("2-1"), []any{[]byte("f"), []byte("v")}}
	for name, c := range map[string]struct {
		reply any
		want  claimed
	}{
		"6.2": {[]any{[]byte("0-0"), []any{nil, entry}}, claimed{
			cursor: "0-0", unnamed: true, entries: []Entry[any]{{"2-1", entry[1]}},
		}},
		"7.0": {[]any{[]byte("3-1"), []any{entry}, []any{[]byte("1-1")}}, claimed{
			cursor: "3-1", deleted: []string{"1-1"}, entries: []Entry[any]{{"2-1", entry[1]}},
		}},
	} {
		got, err := parseClaimed(c.reply)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
	for _, bad := range []any{
		nil, int64(1), []any{}, []any{[]byte("0-0"), int64(1)}, []any{[]any{}, []any{}},
		[]any{[]byte("0-0"), []any{int64(1)}}, []any{[]byte("0-0"), []any{}, int64(1)},
	} {
		_, err := parseClaimed(bad)
		assert.Error(t, err, "%v", bad)
	}
	_, err := parseClaimed(ErrIO.New("lost"))
	assertType(t, ErrIO, err)
}

func TestParsePending(t *testing.T) {
	p, err := parsePending([]any{[]any{[]byte("1-1"), []byte("c"), int64(9), int64(2)}})
	require.NoError(t, err)
	assert.Equal(t, pendingEntry{id: "1-1", owner: "c", idle: Milliseconds(9 * time.Millisecond), deliveries: 2}, p)
	p, err = parsePending([]any{})
	require.NoError(t, err)
	assert.Empty(t, p)
	_, err = parsePending([]any{[]any{}})
	assertType(t, ErrResponseUnexpected, err)
}
