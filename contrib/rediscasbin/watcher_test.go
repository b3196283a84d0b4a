package rediscasbin

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
	"github.com/casbin/casbin/v3/persist"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

var _ persist.Watcher = (*Watcher)(nil)

// patience bounds waits for a server. It is longer than any pause of a busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	m.Run()
}

func opened(t *testing.T, server *testbed.Server) *redispipe.Client {
	t.Helper()
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func newWatcher(t *testing.T, db *redispipe.Client) *Watcher {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := New(ctx, db, "policy")
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

// policies is a casbin adapter in memory: the database that all enforcers share.
type policies struct {
	mu    sync.Mutex
	rules [][]string
}

func (p *policies) LoadPolicy(m model.Model) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if err := persist.LoadPolicyArray(rule, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *policies) AddPolicy(_, ptype string, rule []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, append([]string{ptype}, rule...))
	return nil
}

func (p *policies) RemovePolicy(_, ptype string, rule []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(r []string) bool {
		return slices.Equal(r, append([]string{ptype}, rule...))
	})
	return nil
}

func (p *policies) SavePolicy(model.Model) error                              { return nil }
func (p *policies) RemoveFilteredPolicy(string, string, int, ...string) error { return nil }

// enforcer returns an enforcer of one process.
func enforcer(t *testing.T, p *policies, w *Watcher) *casbin.SyncedEnforcer {
	t.Helper()
	m, err := model.NewModelFromString(`
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj && r.act == p.act
`)
	require.NoError(t, err)
	e, err := casbin.NewSyncedEnforcer(m, p)
	require.NoError(t, err)
	require.NoError(t, e.SetWatcher(w))
	// The callback of SetWatcher loads the policy without the lock of the enforcer.
	require.NoError(t, w.SetUpdateCallback(func(string) {
		if err := e.LoadPolicy(); err != nil {
			t.Error(err)
		}
	}))
	return e
}

// With the documented code, an enforcer changes the policy, and the other enforcers load it.
func TestEnforcers(t *testing.T) {
	server := testbed.NewServer(t)
	var p policies
	var enforcers []*casbin.SyncedEnforcer
	for range 3 {
		enforcers = append(enforcers, enforcer(t, &p, newWatcher(t, opened(t, server))))
	}
	everywhere := func(want bool) {
		t.Helper()
		for _, e := range enforcers {
			require.Eventually(t, func() bool {
				allowed, err := e.Enforce("ann", "data", "read")
				return err == nil && allowed == want
			}, patience, time.Millisecond)
		}
	}
	everywhere(false)
	_, err := enforcers[0].AddPolicy("ann", "data", "read")
	require.NoError(t, err)
	everywhere(true)
	_, err = enforcers[2].RemovePolicy("ann", "data", "read")
	require.NoError(t, err)
	everywhere(false)

	// A change without a message is loaded when messages may have been lost.
	require.NoError(t, p.AddPolicy("p", "p", []string{"ann", "data", "read"}))
	require.NoError(t, redis.Err(server.Do("CLIENT KILL", "TYPE", "pubsub")))
	everywhere(true)
}

// A watcher calls its latest callback for the messages of other watchers, even for those that arrived before there
// was a callback. It does not call it after Close.
func TestCallback(t *testing.T) {
	server := testbed.NewServer(t)
	first, second := newWatcher(t, opened(t, server)), newWatcher(t, opened(t, server))
	called := make(chan string, 1000)
	call := func(w *Watcher, name string) {
		require.NoError(t, w.SetUpdateCallback(func(by string) {
			if by == w.id {
				t.Error(name, "was told of its own change")
			}
			called <- name
		}))
	}
	// A dropped message is a gap, so there may be more calls than changes.
	until := func(want, never string) {
		t.Helper()
		for got := range called {
			require.NotEqual(t, never, got)
			if got == want {
				return
			}
		}
	}
	require.ErrorIs(t, first.SetUpdateCallback(nil), ErrCallback)
	require.NoError(t, second.Update())
	call(first, "first")
	until("first", "")
	call(second, "second")
	call(second, "replaced")
	require.NoError(t, first.Update())
	until("replaced", "second")

	first.Close()
	first.Close()
	for len(called) > 0 {
		<-called
	}
	require.NoError(t, newWatcher(t, opened(t, server)).Update())
	until("replaced", "first")
}

// Update returns an error if the other watchers may not have got the message.
func TestErrors(t *testing.T) {
	server := testbed.NewServer(t)
	db := opened(t, server)
	w := newWatcher(t, db)
	require.NoError(t, w.SetUpdateCallback(func(string) {}))
	db.Close()
	require.ErrorIs(t, w.Update(), redis.ErrNotSent)
	<-w.ended // the watcher ends with its client

	nowhere, err := redispipe.Open(t.Context(), "redis://127.0.0.1:1", redispipe.Logger(nil))
	require.NoError(t, err)
	defer nowhere.Close()
	_, err = New(t.Context(), nowhere, "policy")
	require.Error(t, err)

	for _, client := range []*redispipe.Client{nil, new(redispipe.Client)} {
		_, err = New(t.Context(), client, "policy")
		require.ErrorIs(t, err, redis.ErrNotSent)
	}
	w = newWatcher(t, opened(t, server))
	w.Close()
	require.ErrorIs(t, w.Update(), ErrClosed)
}
