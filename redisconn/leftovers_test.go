package redisconn

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func testConnection() *Connection { return &Connection{opts: Opts{Logger: NoopLogger{}}} }

func TestLeftoversByTheByte(t *testing.T) {
	unsent, unknown := redis.ErrContextClosed.New("unsent"), redis.ErrIO.New("unknown")
	for sent, want := range map[int][]*errorx.Error{
		0:  {unsent, unsent, unsent, unsent},
		1:  {unknown, unsent, unsent, unsent},
		3:  {unknown, unsent, unsent, unsent},
		4:  {unknown, unknown, unknown, unsent}, // the transaction has begun
		12: {unknown, unknown, unknown, unsent},
		13: {unknown, unknown, unknown, unknown},
	} {
		b := &batch{}
		fill(b, "aaa", "(b)", "(cccc)", "d")
		require.Len(t, b.buf, 13)
		b.sent = sent
		l := &leftovers{c: testConnection()}
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

func TestLeftoversTakeWhatNobodyHasClaimed(t *testing.T) {
	first, second := &batch{}, &batch{}
	fill(first, "a", "b", "[c]")
	fill(second, "d")
	first.next = second
	require.True(t, first.claim(0))
	l := &leftovers{c: testConnection()}
	l.collect(first, nil, nil)
	require.Len(t, l.items, 2, "b and d: a is the reader's, c withdrawn")
	l.collect(first, nil, nil)
	require.Len(t, l.items, 2, "twice")
	require.False(t, first.claim(1))
}

// A future that blocks, panics or ends its goroutine does not keep others from
// their results, nor is any resolved twice.
func TestLeftoversOutliveFutures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		resolved := make([]int, 100)
		order := make(chan int, 100)
		l := &leftovers{c: testConnection()}
		for i := range resolved {
			l.items = append(l.items, leftover{item: item{fut: redis.FuncFuture(func(any, uint64) {
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
