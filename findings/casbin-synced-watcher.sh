#!/bin/sh
# casbin 3.10.0.
#
# The callback that SyncedEnforcer.SetWatcher sets loads the policy without the lock of the enforcer, so it runs beside
# Enforce: while the lock is held, the callback returns, and SyncedEnforcer.LoadPolicy waits. It also
# ignores the error of the adapter.
#
# Output seen:
#   callback of SetWatcher: returned
#   LoadPolicy: waits
#
# Wants go.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
cat >main.go <<'END'
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
)

type watcher struct{ callback func(string) }

func (w *watcher) SetUpdateCallback(f func(string)) error { w.callback = f; return nil }
func (w *watcher) Update() error                          { return nil }
func (w *watcher) Close()                                 {}

// adapter fails from the second time on.
type adapter struct{ loaded int }

func (a *adapter) LoadPolicy(model.Model) error {
	a.loaded++
	if a.loaded > 1 {
		return errors.New("the database is down")
	}
	return nil
}
func (a *adapter) SavePolicy(model.Model) error                              { return nil }
func (a *adapter) AddPolicy(string, string, []string) error                  { return nil }
func (a *adapter) RemovePolicy(string, string, []string) error               { return nil }
func (a *adapter) RemoveFilteredPolicy(string, string, int, ...string) error { return nil }

func main() {
	m, err := model.NewModelFromString(`
[request_definition]
r = sub
[policy_definition]
p = sub
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub
`)
	if err != nil {
		panic(err)
	}
	e, err := casbin.NewSyncedEnforcer(m, &adapter{})
	if err != nil {
		panic(err)
	}
	w := &watcher{}
	if err := e.SetWatcher(w); err != nil {
		panic(err)
	}
	failed := false
	expect := func(what, want string, call func()) {
		e.GetLock().Lock()
		defer e.GetLock().Unlock()
		done, got := make(chan struct{}), "returned"
		go func() { call(); close(done) }()
		select {
		case <-done:
		case <-time.After(3 * time.Second):
			got = "waits"
		}
		fmt.Println(what+":", got)
		failed = failed || got != want
	}
	expect("callback of SetWatcher", "returned", func() { w.callback("") })
	expect("LoadPolicy", "waits", func() { _ = e.LoadPolicy() })
	if failed {
		os.Exit(1)
	}
}
END
build github.com/casbin/casbin/v3@v3.10.0
./main
