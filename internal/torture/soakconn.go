package torture

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

// faultKinds are the faults of a Soak. Those that change or shift replies are
// for connections with the integrity option: without it nobody can tell.
var faultKinds = []testbed.ProxyAction{
	testbed.ProxyCut, testbed.ProxyReset, testbed.ProxyReset, testbed.ProxyHalfClose,
	testbed.ProxySwallow, testbed.ProxyTrickle, testbed.ProxyDelay, testbed.ProxySlice,
	"freeze", "kill", "refuse", "bad handshake",
	testbed.ProxyInsert, testbed.ProxyDelete,
}

// fault makes one random fault, and undoes it after a while.
func (s *soak) fault(ctx context.Context, integrity bool) error {
	kind := faultKinds[s.rnd.Intn(len(faultKinds))]
	lasting := time.Duration(s.rnd.Intn(1000)) * time.Millisecond
	switch kind {
	case "freeze":
		s.totals.Faults["freeze"]++
		return s.meanwhile(ctx, lasting, s.rig.Server.Pause, s.rig.Server.Resume)
	case "kill":
		s.totals.Faults["kill"]++
		return s.meanwhile(ctx, lasting, s.rig.Server.Kill, s.rig.Server.Restart)
	case "refuse":
		s.totals.Faults["refuse"]++
		s.rig.Proxy.Arm(testbed.ProxyFault{Do: testbed.ProxyReset, At: testbed.ProxyNow()})
		return s.meanwhile(ctx, lasting, func() error { s.rig.Proxy.Refuse(true); return nil },
			func() error { s.rig.Proxy.Refuse(false); return nil })
	case "bad handshake": // a reset, and again within the first bytes of the next connections
		s.totals.Faults["bad handshake"]++
		s.rig.Proxy.Arm(testbed.ProxyFault{
			Do: testbed.ProxyReset, On: s.direction(), At: testbed.ProxyAtRandomByte(200), Times: 3,
		})
	default:
		if (kind == testbed.ProxyInsert || kind == testbed.ProxyDelete) && !integrity {
			return nil
		}
		armed := s.rig.Proxy.Arm(s.proxyFault(kind))
		defer func() { s.totals.Faults[string(kind)] += armed.Fired() }()
	}
	return s.meanwhile(ctx, lasting, func() error { return nil }, func() error { s.rig.Proxy.Heal(); return nil })
}

func (s *soak) direction() testbed.ProxyDirection { return testbed.ProxyDirection(s.rnd.Intn(2)) }

func (s *soak) proxyFault(kind testbed.ProxyAction) testbed.ProxyFault {
	f := testbed.ProxyFault{Do: kind, On: s.direction(), Times: 1 + s.rnd.Intn(5)}
	f.At = []testbed.ProxyPoint{
		testbed.ProxyNow(), testbed.ProxyAtChance(0.01), testbed.ProxyAtByte(int64(s.rnd.Intn(100_000))),
	}[s.rnd.Intn(3)]
	f.N = 1 + s.rnd.Intn(1460)
	f.Interval = time.Duration(1+s.rnd.Intn(900)) * time.Millisecond
	if kind == testbed.ProxyInsert || kind == testbed.ProxyDelete {
		// One in each batch at the most: one lost and one inserted make the count
		// right again.
		f.On, f.At, f.Times = testbed.ProxyReplies, testbed.ProxyAtChance(0.01), 1
		f.Bytes = []byte("$5\r\nwrong\r\n")
	}
	return f
}

// meanwhile does something, waits, and undoes it.
func (s *soak) meanwhile(ctx context.Context, d time.Duration, do, undo func() error) error {
	if err := do(); err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return undo()
}
