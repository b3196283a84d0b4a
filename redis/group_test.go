package redis

import (
	"context"
	"testing"
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
		"the library's":  func(o *GroupOpts) { o.Consumer = groupRepairer },
		"only new":       func(o *GroupOpts) { o.Start = "$" },
		"no number":      func(o *GroupOpts) { o.Start = "1-x" },
		"negative":       func(o *GroupOpts) { o.Start = "-1" },
		"no dead letter": func(o *GroupOpts) { o.MaxDeliveries = 3 },
		"no record":      func(o *GroupOpts) { o.Stream = "a}b{" },
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
		Block: 5 * time.Second, MinIdle: time.Minute, Record: "{s}:g:acked",
	}, r.opts)
	good.Stream, good.MinIdle = "{a}b", 1
	r, err = NewGroupReader(nil, good)
	require.NoError(t, err)
	assert.Equal(t, "{a}b:g:acked", r.opts.Record)
	assert.Equal(t, groupMinIdleLeast, r.opts.MinIdle)
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
	owner, n, err := parsePending([]any{[]any{[]byte("1-1"), []byte("c"), int64(9), int64(2)}})
	require.NoError(t, err)
	assert.Equal(t, "c", owner)
	assert.Equal(t, 2, n)
	owner, _, err = parsePending([]any{})
	require.NoError(t, err)
	assert.Empty(t, owner)
	_, _, err = parsePending([]any{[]any{}})
	assertType(t, ErrResponseUnexpected, err)
}

func TestLowOf(t *testing.T) {
	none := []any{int64(0), nil, nil, nil}
	oldest := func(id string) []any { return []any{int64(1), []byte(id), []byte(id), []any{}} }
	for name, c := range map[string]struct {
		last    []string
		pending []any
		low     int64
		known   bool
	}{
		"nothing acknowledged": {[]string{groupLow}, none, 0, false},
		"nothing at all":       {nil, none, 0, false},
		"none pending":         {[]string{groupLow, "7-1"}, none, 7, true},
		"one pending":          {[]string{"7-1", "6-1"}, oldest("3-2"), 3, true},
		"one pending behind":   {[]string{"7-1", "6-1"}, oldest("9-2"), 7, true},
		"garbled":              {[]string{"7-1"}, oldest("x"), 0, false},
	} {
		low, known := lowOf(c.last, c.pending)
		assert.Equal(t, c.known, known, name)
		if known {
			assert.Equal(t, c.low, low, name)
		}
	}
}
