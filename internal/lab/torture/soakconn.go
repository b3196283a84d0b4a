package torture

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// connStage is one connection, with a proxy between it and its server.
type connStage struct {
	*Rig
	rnd       *rand.Rand
	totals    *Totals
	integrity bool
}

func newConnStage(name string, seed int64, rnd *rand.Rand, totals *Totals) (stage, error) {
	r, err := NewRig(RigOpts{
		Name: name, Seed: seed, ServerOpts: testbed.Options{Persist: true}, Conn: soakConn(false),
	})
	if err != nil {
		return nil, err
	}
	return &connStage{Rig: r, rnd: rnd, totals: totals}, nil
}

func (s *connStage) begin(round int, name string) error {
	s.NewLedger(name)
	anew, integrity := changes(round)
	if !anew {
		return nil
	}
	s.integrity = integrity
	return s.Connect(soakConn(integrity))
}

func (s *connStage) load(workers int) *Load { return s.Load(workers, 0) }

// pops returns nil with the integrity option. These rounds insert and delete replies, and the
// option protects only the shared connection.
func (s *connStage) pops() *Pops {
	if s.integrity {
		return nil
	}
	return s.soakPops(s.Conn)
}

func (s *connStage) about() string { return fmt.Sprintf("integrity %v", s.integrity) }

func (s *connStage) judge() (*oracle.Report, error) {
	s.Proxy.Heal()
	if _, err := s.WaitConnected(10 * time.Second); err != nil {
		return nil, err
	}
	report, precision, err := s.Judge(5 * time.Second)
	s.totals.Precision.add(precision)
	return report, err
}

func (s *connStage) clear() error {
	s.Proxy.TakeLog()
	s.NewLedger("idle")
	return redis.AsError(s.Server.Do("FLUSHALL"))
}

func (s *connStage) close() *oracle.Report {
	s.Close()
	return s.Ledger.Report
}

// connFaults are the faults of a connection. Those that change or shift replies are only for
// connections with the integrity option, because no client notices them without it.
var connFaults = []chaos.Action{
	chaos.Cut, chaos.Reset, chaos.Reset, chaos.HalfClose,
	chaos.Swallow, chaos.Trickle, chaos.Delay, chaos.Slice,
	"freeze", "kill", "refuse", "bad handshake",
	chaos.Insert, chaos.Delete,
}

func (s *connStage) fault(ctx context.Context) error {
	kind := connFaults[s.rnd.Intn(len(connFaults))]
	lasting := time.Duration(s.rnd.Intn(1000)) * time.Millisecond
	switch kind {
	case "freeze":
		s.totals.Faults["freeze"]++
		return meanwhile(ctx, lasting, s.Server.Pause, s.Server.Resume)
	case "kill":
		s.totals.Faults["kill"]++
		return meanwhile(ctx, lasting, s.Server.Kill, s.Server.Restart)
	case "refuse":
		s.totals.Faults["refuse"]++
		s.Proxy.Arm(chaos.Fault{Do: chaos.Reset, At: chaos.Now()})
		return meanwhile(ctx, lasting, func() error { s.Proxy.Refuse(true); return nil },
			func() error { s.Proxy.Refuse(false); return nil })
	case "bad handshake": // a reset, and further resets within the first bytes of the next connections
		s.totals.Faults["bad handshake"]++
		s.Proxy.Arm(chaos.Fault{
			Do: chaos.Reset, On: s.direction(), At: chaos.AtRandomByte(200), Times: 3,
		})
	default:
		if (kind == chaos.Insert || kind == chaos.Delete) && !s.integrity {
			return nil
		}
		armed := s.Proxy.Arm(s.proxyFault(kind))
		defer func() { s.totals.Faults[string(kind)] += armed.Fired() }()
	}
	return meanwhile(ctx, lasting, func() error { return nil }, func() error { s.Proxy.Heal(); return nil })
}

func (s *connStage) direction() chaos.Direction { return chaos.Direction(s.rnd.Intn(2)) }

func (s *connStage) proxyFault(kind chaos.Action) chaos.Fault {
	f := chaos.Fault{Do: kind, On: s.direction(), Times: 1 + s.rnd.Intn(5)}
	f.At = []chaos.Point{
		chaos.Now(), chaos.AtChance(0.01), chaos.AtByte(int64(s.rnd.Intn(100_000))),
	}[s.rnd.Intn(3)]
	f.N = 1 + s.rnd.Intn(1460)
	f.Interval = time.Duration(1+s.rnd.Intn(900)) * time.Millisecond
	if kind == chaos.Insert || kind == chaos.Delete {
		// At most one such fault happens in a batch, because a lost reply and an inserted reply
		// would cancel each other out.
		f.On, f.At, f.Times = chaos.Replies, chaos.AtChance(0.01), 1
		f.Bytes = []byte("$5\r\nwrong\r\n")
	}
	return f
}
