package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cancellable is a future that discards its result. It is cancelled if it is true.
type cancellable bool

func (cancellable) Resolve(any, uint64) {}

func (c cancellable) Cancelled() error {
	if c {
		return context.Canceled
	}
	return nil
}

// fill adds an item for each word. A word in capitals is cancelled, a word in parentheses is
// pinned, and a word in brackets is withdrawn.
func fill(b *batch, words ...string) {
	pinned := -1
	for i, word := range words {
		it := item{n: uint64(i), start: len(b.buf), future: cancellable(word == strings.ToUpper(word))}
		if word[0] != '(' {
			pinned = -1
		}
		switch word[0] {
		case '(':
			if pinned < 0 {
				pinned = it.start
			}
			it.pinned, it.start = true, pinned
		case '[':
			it.withdrawn, it.future = true, nil
			b.withdrawn++
		}
		b.buf = append(b.buf, word...)
		it.end = len(b.buf)
		b.items = append(b.items, it)
	}
	b.customFutures = true
}

func TestBatchDrop(t *testing.T) {
	for _, c := range []struct{ words, kept, cancelled, starts string }{
		{"a bb ccc", "a bb ccc", "", "0 1 3"},
		{"A bb ccc", "bb ccc", "0", "0 2"},
		{"a BB ccc", "a ccc", "1", "0 1"},
		{"a bb CCC", "a bb", "2", "0 1"},
		{"A BB CCC", "", "0 1 2", ""},
		{"[a] bb CC dd", "bb dd", "2", "0 2"},
		{"A (BB) (CC) d", "(BB) (CC) d", "0", "0 0 8"},
		{"a (b) (c) DD (e) f", "a (b) (c) (e) f", "3", "0 1 1 7 10"},
		{"[a] [b]", "", "", ""},
	} {
		t.Run(c.words, func(t *testing.T) {
			b := &batch{}
			fill(b, strings.Fields(c.words)...)
			var dropped []string
			for _, it := range drop(b) {
				dropped = append(dropped, fmt.Sprint(it.n))
				require.NotNil(t, it.future)
			}
			require.Equal(t, c.cancelled, strings.Join(dropped, " "))
			require.Equal(t, strings.ReplaceAll(c.kept, " ", ""), string(b.buf))
			var starts []string
			end := 0
			for i, it := range b.items {
				word := strings.Fields(c.kept)[i]
				require.Equal(t, word, string(b.buf[end:it.end]))
				end = it.end
				starts = append(starts, fmt.Sprint(it.start))
			}
			require.Equal(t, len(b.buf), end)
			require.Equal(t, c.starts, strings.Join(starts, " "))
		})
	}
}

// When a session fails, the reader and the lifecycle claim items of the same batch at the same
// time. Each item must be claimed once.
func TestBatchItemsAreClaimedOnce(t *testing.T) {
	const items = 100
	for range 50 {
		b := &batch{}
		fill(b, strings.Split(strings.Repeat("x", items), "")...)
		var claims [items]atomic.Int32
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; i < items && b.claim(i); i++ {
				claims[i].Add(1)
			}
		})
		wg.Go(func() {
			for i := b.claimRest(); i < items; i++ {
				claims[i].Add(1)
			}
		})
		wg.Wait()
		for i := range claims {
			require.EqualValues(t, 1, claims[i].Load(), "item %d", i)
		}
	}
}

// drop removes withdrawn and cancelled items, as queue.take does.
func drop(b *batch) (cancelled []cancelledItem) {
	cancelled = b.cancelled()
	b.compact()
	return cancelled
}

func TestBatchDropKeepsTheBuffer(t *testing.T) {
	b := &batch{}
	fill(b, "A", "bb")
	before := &b.buf[0]
	drop(b)
	require.True(t, bytes.Equal(b.buf, []byte("bb")) && before == &b.buf[0])
}

// A fence is the last item of its batch. It has the sequence number of the last request, and find
// returns the request.
func TestBatchEnclose(t *testing.T) {
	b := &batch{}
	fill(b, "a", "bb")
	b.items[1].seq = 1
	b.enclose()
	require.Len(t, b.items, 3)
	require.Equal(t, uint64(1), b.items[2].seq)
	require.Equal(t, 1, b.find(1))
}
