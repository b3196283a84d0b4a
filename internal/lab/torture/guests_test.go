package torture

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// T35: optimistic transactions, sessions, scans, iterations of hashes, a consumer group, scripts
// and virtual connections, together with a load and blocking pops, while slots move and masters
// hand over.
func TestT35GuestsOfMovingSlots(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{NodeTimeout: longNodeTimeout})
	r, crowd := newClusterRig(t, nodes, 3*patience), newClusterRig(t, nodes, 3*patience)
	r.NewLedger(t.Name() + "-guests")
	g := newGuests(t, r)
	slots := newSlotMover(r)
	ctx, all, end := g.begin(slots)
	load := crowd.Load(4, 0)
	load.Pause = guestPause
	all.Go(func() { load.Run(ctx) })
	pops := crowd.pops(crowd.Client, 2, 2, 1) // on keys in the slots of the load
	pops.Patience = 100 * time.Millisecond
	all.Go(func() { pops.Run(ctx, 0) })
	for i := range load.Workers {
		slots.often = append(slots.often, load.key(i, ""))
	}
	for begin := time.Now(); time.Since(begin) < faultsFor() || !g.enough() || slots.moves < 4; {
		require.Less(t, time.Since(begin), faultsFor()+3*patience, "nothing comes of it")
		require.NoError(t, slots.next())
	}
	end()
	report := judgeCluster(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value))
	require.Zero(t, judgeCluster(t, crowd).Outcomes(oracle.ServerError))
	g.verify()
	t.Logf("%d slots moved, %d masters handed over", slots.moves, slots.failovers)
}

// guests are goroutines that use a cluster in other ways than a load does.
type guests struct {
	*ClusterRig
	t      *testing.T
	chains []*chain
	stream *stream
	// lossy is set if masters are killed. Then requests may fail, and servers may lose acknowledged
	// writes.
	lossy bool

	scans, walks, links atomic.Int64
}

const (
	// scannedTags are tags with scannedKeys keys each, which scans find.
	scannedTags, scannedKeys = 8, 40
	// hashFields is how many fields a hash has: too many to be returned at once.
	hashFields = 1500
	// guestPause is how long a guest pauses, so that servers have time to move slots.
	guestPause = 2 * time.Millisecond
)

func newGuests(t *testing.T, r *ClusterRig) *guests {
	g := &guests{ClusterRig: r, t: t}
	for i := range 3 {
		g.chains = append(g.chains, newChain(g, g.tag("chain", i)))
	}
	g.stream = newStream(g, g.tag("stream", 0))
	return g
}

func (g *guests) tag(kind string, i int) string { return fmt.Sprintf("{%s-%s-%d}", g.Name, kind, i) }

// enough reports whether each guest has completed something.
func (g *guests) enough() bool {
	return g.scans.Load() > 1 && g.walks.Load() > 1 && g.links.Load() > 20 && g.stream.entries.Load() > 20
}

// verify compares the final state of the servers with the replies that the guests got.
func (g *guests) verify() {
	for _, c := range g.chains {
		c.verify()
	}
	g.stream.verify()
	g.t.Logf("%d scans, %d walks of hashes, %d links, %d entries of a stream",
		g.scans.Load(), g.walks.Load(), g.links.Load(), g.stream.entries.Load())
}

// begin starts all guests, and tells them which slots will move. The caller may start more
// goroutines in all, which must run until ctx is done. end stops all of them and waits for them. It
// is also called when the test ends.
func (g *guests) begin(slots *slotMover) (ctx context.Context, all *sync.WaitGroup, end func()) {
	ctx, stop := context.WithCancel(context.Background())
	all = new(sync.WaitGroup)
	end = func() {
		stop()
		all.Wait()
	}
	g.t.Cleanup(end)
	move := func(kind string, i int) string {
		slots.often = append(slots.often, g.tag(kind, i))
		return g.tag(kind, i)
	}
	for i := range scannedTags {
		slots.seldom = append(slots.seldom, g.tag("scan", i))
		for k := range scannedKeys {
			g.has("SET", g.tag("scan", i)+strconv.Itoa(k), k)
		}
	}
	all.Go(func() { g.scan(ctx, slots) })
	for i := range 2 {
		hash := move("hash", i)
		fields := []any{hash}
		for k := range hashFields {
			fields = append(fields, k, k)
		}
		g.has("HSET", fields...)
		all.Go(func() { g.walk(ctx, hash) })
	}
	for i, c := range g.chains {
		move("chain", i)
		for n := range 3 {
			all.Go(func() { c.run(ctx, n == 0) })
		}
	}
	move("stream", 0)
	g.stream.begin(ctx, all)
	for i := range 2 {
		scripts, virtual := move("script", i)+"log", move("virtual", i)+"log"
		all.Go(func() { g.script(ctx, scripts) })
		if !g.lossy {
			all.Go(func() { g.virtual(ctx, virtual) })
		}
	}
	return ctx, all, end
}

// has runs a request that writes data for guests, before masters are killed.
func (g *guests) has(cmd string, args ...any) {
	_, err := setUp(func() (any, error) {
		res := redis.Sync{S: g.Client}.Do(cmd, args...)
		return res, redis.Err(res)
	})
	require.NoError(g.t, err)
}

// fails records an error of a guest, unless errors are allowed.
func (g *guests) fails(what string, err error) {
	if !g.lossy {
		g.t.Errorf("%s: %v", what, err)
	}
	time.Sleep(10 * guestPause)
}

// scan requires that each scan without an error returns every key.
func (g *guests) scan(ctx context.Context, slots *slotMover) {
	for ctx.Err() == nil {
		slots.mayMoveAgain.Add(1)
		seen := map[string]bool{}
		var failed error
		for key, err := range redis.Keys(context.Background(), g.Client, redis.ScanOpts{Match: "{" + g.Name + "-scan-*", Count: 10}) {
			seen[key], failed = true, err
		}
		if failed != nil {
			g.fails("a scan", failed)
			continue
		}
		if len(seen) != scannedKeys*scannedTags {
			g.t.Errorf("a scan has found %d of %d keys", len(seen), scannedKeys*scannedTags)
		}
		g.scans.Add(1)
	}
}

// walk requires that each complete HSCAN of a hash finds every field.
func (g *guests) walk(ctx context.Context, key string) {
	for ctx.Err() == nil {
		seen := map[string]bool{}
		var failed error
		for f, err := range redis.Fields[int](context.Background(), g.Client, redis.ScanOpts{Key: key, Count: 100}) {
			seen[f.Name], failed = true, err
		}
		if failed != nil {
			g.fails("a walk", failed)
			continue
		}
		if len(seen) != hashFields {
			g.t.Errorf("a walk has found %d of %d fields", len(seen), hashFields)
		}
		g.walks.Add(1)
		time.Sleep(guestPause)
	}
}

// script writes with a script, which is flushed from the servers from time to time.
func (g *guests) script(ctx context.Context, key string) {
	push := redis.NewScript("return redis.call('RPUSH', KEYS[1], ARGV[1])")
	for ctx.Err() == nil {
		req, id := g.Log.Issue(key)
		g.Ledger.Resolve(push.Do(context.Background(), g.Client, []string{key}, req.Args[1]), id)
		if rand.IntN(4) == 0 {
			g.Client.EachShard(func(s redis.Sender, err error) bool {
				if err == nil {
					redis.SyncCtx{S: s}.Do(ctx, "SCRIPT FLUSH")
				}
				return true
			})
		}
		time.Sleep(guestPause)
	}
}

// virtual sends writes through a virtual connection, several at once, with and without MULTI.
func (g *guests) virtual(ctx context.Context, key string) {
	conn := redisvirtual.Conn(g.Client)
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	var failed error
	say := func(words ...string) {
		text := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			failed = err
		}
	}
	hear := func() string {
		if failed != nil { // no further reply may come
			return ""
		}
		line, err := in.ReadString('\n')
		if err != nil {
			failed = err
		}
		if strings.HasPrefix(line, "-") {
			failed = fmt.Errorf("it has answered %q", line)
		}
		return strings.TrimSpace(line)
	}
	for ctx.Err() == nil && failed == nil {
		ids, queued := make([]uint64, 1+rand.IntN(3)), rand.IntN(2) == 0
		if queued {
			say("MULTI")
		}
		for i := range ids {
			list := key
			if !queued { // a redirected request runs after the requests behind it
				list += strconv.Itoa(i)
			}
			req, id := g.Log.Issue(list)
			ids[i] = id
			say("RPUSH", list, fmt.Sprint(req.Args[1]))
		}
		if queued {
			say("EXEC")
			for range len(ids) + 2 { // +OK, a +QUEUED for each, and the head of an array
				hear()
			}
		}
		for _, id := range ids {
			count, err := strconv.ParseInt(strings.TrimPrefix(hear(), ":"), 10, 64)
			if err != nil && failed == nil {
				failed = err
			}
			g.Ledger.Resolve(count, id)
		}
		time.Sleep(guestPause)
	}
	if failed != nil {
		g.t.Errorf("a virtual connection: %v", failed)
	}
}
