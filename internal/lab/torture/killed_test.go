package torture

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// T36: the guests of T35 run while masters are killed, or stopped until they are replaced. The
// writes of a transaction or a script are there once, or not at all if it was reported as not sent.
// A scan or an iteration that ends without an error has returned everything. The group delivers
// each entry that the servers have kept.
func TestT36GuestsOfKilledMasters(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}, NodeTimeout: nodeTimeout})
	r := newClusterRig(t, nodes, nodeLost)
	r.AllowLoss()
	g := newGuests(t, r)
	g.lossy = true
	slots := newSlotMover(r)
	ctx, _, end := g.begin(slots)
	tags := append(slots.seldom, slots.often...)
	for _, tag := range tags { // replicas have the keys that guests look for, too
		_, err := setUp(func() (any, error) {
			return nil, redis.WithSession(ctx, r.Client, tag, func(s *redis.Session) error {
				return redis.FirstError([]any{s.Do("SET", "probe"+tag, 1), s.Do("WAIT", 1, 0)})
			})
		})
		require.NoError(t, err)
	}
	for i := range long(20, 1) {
		tag := tags[(int(seed%100)+7*i)%len(tags)]
		require.NoError(t, replace(r, tag, func(master, _ *testbed.Node) error {
			lost, back := master.Kill, master.Restart
			if i%2 == 1 {
				lost, back = master.Pause, master.Resume
			}
			if err := lost(); err != nil {
				return err
			}
			slot, err := nodes.Slot(tag)
			if err != nil {
				return err
			}
			for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				if owner, err := nodes.Owner(slot); err == nil && owner != master {
					return back()
				}
				if time.Now().After(end) {
					return errors.Join(fmt.Errorf("nobody has replaced %v", master), back())
				}
			}
		}))
	}
	require.Eventually(t, g.enough, patience, time.Millisecond)
	end()
	answers(t, r)
	judgeCluster(t, r)
	g.verify()
}
