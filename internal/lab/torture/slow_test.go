package torture

import (
	"context"
	"crypto/tls"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// T7: streams trickle and are delayed. A caller still returns by its deadline.
func TestT7SlowStreams(t *testing.T) {
	beside(t)
	const deadline = 60 * time.Millisecond
	both := []chaos.Direction{chaos.Requests, chaos.Replies}
	for _, tt := range []struct {
		name  string
		fault chaos.Fault
	}{
		{"byte per 10 ms", chaos.Fault{Do: chaos.Trickle, Interval: 10 * time.Millisecond}},
		{"byte per 900 ms", chaos.Fault{Do: chaos.Trickle, Interval: 900 * time.Millisecond}},
		{"delay", chaos.Fault{Do: chaos.Delay, Interval: 100 * time.Millisecond}},
	} {
		for _, on := range both {
			t.Run(tt.name+" of "+on.String(), func(t *testing.T) {
				beside(t)
				opts := fast()
				r := newRig(t, RigOpts{Conn: opts})
				fault := tt.fault
				fault.On, fault.At, fault.Times = on, chaos.Now(), -1
				r.Proxy.Arm(fault)
				var wg sync.WaitGroup
				var mu sync.Mutex
				longest := time.Duration(0)
				for range 20 {
					wg.Go(func() {
						for range long(8, 3) {
							id := r.Ledger.IssueTagged(oracle.IsBulk)
							ctx, cancel := context.WithTimeout(context.Background(), deadline)
							begin := time.Now()
							res := redis.SyncCtx{S: r.Conn}.Do(ctx, "ECHO", r.Ledger.Tag(id))
							took := time.Since(begin)
							cancel()
							r.Ledger.Resolve(res, id)
							mu.Lock()
							longest = max(longest, took)
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				t.Logf("longest %v with a deadline of %v", longest, deadline)
				r.Proxy.Heal()
				_, err := r.WaitConnected(patience)
				require.NoError(t, err)
				judge(t, r)
			})
		}
	}
}

// T7: if streams arrive in slices of 1 to 1460 bytes, the results are the same.
func TestT7Slices(t *testing.T) {
	r := newRig(t, RigOpts{Conn: untimed()})
	for _, n := range []int{1, 7, 1460} {
		r.Proxy.Heal()
		for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
			r.Proxy.Arm(chaos.Fault{Do: chaos.Slice, On: on, At: chaos.Now(), Times: -1, N: n})
		}
		load := r.Load(8, long(30, 10))
		load.Window, load.MaxValue = 8, n*20
		load.Run(context.Background())
		require.Eventually(t, func() bool { return r.Ledger.Open() == 0 }, patience, time.Millisecond)
	}
	report, _ := judge(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value))
}

// T8: Close ends a handshake at once, no matter at which step the handshake stalls.
func TestT8StalledHandshake(t *testing.T) {
	silent := chaos.ScriptedReplies("")
	tarPit := chaos.ScriptedSlow("+PONG, in a very long while\r\n", 1, 50*time.Millisecond)
	for name, tt := range map[string]struct {
		handler chaos.ScriptedHandler
		opts    redisconn.Opts
	}{
		"silent":   {silent, redisconn.Opts{}},
		"AUTH":     {silent, redisconn.Opts{Password: "p"}},
		"SELECT":   {silent, redisconn.Opts{DB: 3}},
		"HELLO":    {silent, redisconn.Opts{Protocol: 3}},
		"TLS":      {silent, redisconn.Opts{TLSEnabled: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}},
		"tar pit":  {tarPit, redisconn.Opts{}},
		"trickles": {chaos.ScriptedSlow("+OK\r\n", 1, 10*time.Second), redisconn.Opts{Password: "p"}},
	} {
		t.Run(name, func(t *testing.T) {
			family := oracle.NewFamily()
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: tt.handler})
			tt.opts.AsyncDial, tt.opts.IOTimeout, tt.opts.Logger = true, 3*patience, redisconn.NoopLogger{}
			tt.opts.DialTimeout = 3 * patience
			conn, err := redisconn.Connect(context.Background(), s.Addr(), tt.opts)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return s.Accepted() > 0 }, patience, time.Millisecond)
			ledger := oracle.NewLedger(t.Name())
			for range 100 {
				conn.Send(redis.Req("GET", "a"), ledger, ledger.Issue(nil))
			}
			conn.Close()
			report := ledger.Finish(patience)
			family.Settle(report, patience, engines...)
			passes(t, report)
			require.EqualValues(t, 100, report.Outcomes(oracle.NotSent), "%v", report)
		})
	}
}

// T8: a wrong password is a permanent error. It is reported at once, and the client does not try
// again.
func TestT8WrongPassword(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{Password: "right"})
	opts := untimed()
	opts.Password, opts.Logger = "wrong", redisconn.NoopLogger{}
	_, err := redisconn.Connect(context.Background(), s.Addr(), opts)
	require.Error(t, err)
	require.True(t, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent), "%+v", err)
}
