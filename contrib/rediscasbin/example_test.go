package rediscasbin_test

import (
	"context"
	"log"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/persist"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/rediscasbin"
)

// NewEnforcer returns an enforcer that loads the policy again when another process has changed it.
func NewEnforcer(ctx context.Context, db *redispipe.Client, adapter persist.Adapter) (*casbin.SyncedEnforcer, error) {
	watcher, err := rediscasbin.New(ctx, db, "policy") // before the policy is loaded
	if err != nil {
		return nil, err
	}
	enforcer, err := casbin.NewSyncedEnforcer("model.conf", adapter)
	if err != nil {
		watcher.Close()
		return nil, err
	}
	if err := enforcer.SetWatcher(watcher); err != nil {
		watcher.Close()
		return nil, err
	}
	return enforcer, watcher.SetUpdateCallback(func(string) {
		if err := enforcer.LoadPolicy(); err != nil {
			log.Print("the policy is old: ", err)
		}
	})
}

var _ = NewEnforcer
