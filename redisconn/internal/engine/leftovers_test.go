package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// taken returns a taken batch of three requests: aaa, cccc with ASKING before it, and d.
func taken(t *testing.T, p *Pipe) *batch {
	t.Helper()
	enter := func(asking bool, bytes string) {
		_, _, refused := p.queue.enter(encoded(bytes), &Entry{Future: forget, Asking: asking})
		require.Nil(t, refused)
	}
	enter(false, "aaa")
	enter(true, "cccc")
	enter(false, "d")
	b, _ := p.queue.take(true)
	return b
}

func TestLeftoversByTheByte(t *testing.T) {
	unsent, unknown := redis.ErrContextClosed.New("unsent"), redis.ErrIO.New("unknown")
	asking := len("*1\r\n$6\r\nASKING\r\n")
	for sent, want := range map[int][]*errorx.Error{
		0:              {unsent, unsent, unsent},
		1:              {unknown, unsent, unsent},
		3:              {unknown, unsent, unsent},
		4:              {unknown, unknown, unsent}, // one byte of ASKING was sent
		asking + 7:     {unknown, unknown, unsent},
		asking + 7 + 1: {unknown, unknown, unknown},
	} {
		p := testPipe()
		b := taken(t, p)
		require.Len(t, b.buf, asking+8)
		b.sent = sent
		l := &leftovers{p: p}
		l.collect(b, unsent, unknown)
		require.Len(t, l.items, len(want))
		for i, it := range l.items {
			require.Same(t, want[i].Type(), it.err.Type(), "request %d with %d bytes sent", i, sent)
			_, ok := redis.DelayOf(it.err)
			require.True(t, ok)
		}
		require.EqualValues(t, len(want), l.notSent+l.unknown)
	}
}

// If a request is longer than servers accept, its error says that, because the server's own error
// is usually lost.
func TestLeftoverThatIsTooLong(t *testing.T) {
	p := testPipe()
	b := taken(t, p)
	b.sent = 1
	b.items[0].end = bulkMost + 1
	l := &leftovers{p: p}
	l.collect(b, redis.ErrContextClosed.New("unsent"), redis.ErrIO.New("unknown"))
	require.Contains(t, l.items[0].err.Error(), "proto-max-bulk-len")
	require.True(t, l.items[0].err.IsOfType(redis.ErrIO))
	require.NotContains(t, l.items[1].err.Error(), "proto-max-bulk-len")
}

func TestLeftoversTakeWhatNobodyHasClaimed(t *testing.T) {
	p := testPipe()
	first, second := taken(t, p), taken(t, p)
	require.Same(t, second, first.next)
	require.True(t, first.claim(0))
	l := &leftovers{p: p}
	l.collect(first, nil, nil)
	require.Len(t, l.items, 5, "the first is the reader's")
	l.collect(first, nil, nil)
	require.Len(t, l.items, 5, "twice")
	require.False(t, first.claim(1))
}

// A future that blocks, panics or ends its goroutine does not keep other futures from their
// results. No future is resolved twice.
func TestLeftoversOutliveFutures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		resolved := make([]int, 100)
		order := make(chan int, 100)
		l := &leftovers{p: testPipe()}
		for i := range resolved {
			l.items = append(l.items, leftover{item: item{future: redis.FuncFuture(func(any, uint64) {
				resolved[i]++
				order <- i
				switch i % 20 {
				case 5:
					panic("on purpose")
				case 10:
					runtime.Goexit()
				case 0:
					<-block
				}
			})}})
		}
		began := time.Now()
		l.resolveAll()
		require.Equal(t, 0, <-order, "the first has blocked all")
		for range len(resolved) - 1 {
			<-order
		}
		require.LessOrEqual(t, time.Since(began), time.Second)
		close(block)
		time.Sleep(time.Minute)
		for i, n := range resolved {
			require.Equal(t, 1, n, "%d", i)
		}
		(&leftovers{}).resolveAll()
	})
}
