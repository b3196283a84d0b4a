package docs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
)

// The values that the page shows for addresses that do not exist.
var (
	_ = func(ctx context.Context) error {
		db, err := redisfailover.Open(ctx, []redisfailover.Member{
			{Name: "near", URL: "redis-cluster://near1:7000,near2:7000", Weight: 2},
			{Name: "far", URL: "redis://far:6379", Weight: 1},
		}, redisfailover.Opts{})
		if err != nil {
			return err
		}
		defer db.Close()
		err = redis.Err(db.Do(ctx, "SET", "key", "value"))
		return err
	}
	_ = func(db *redisfailover.Client) error {
		if err := db.SwitchTo("far"); err != nil { // there is no such member, or it is down
			return err
		}
		for _, m := range db.Members() {
			fmt.Println(m.Name, m.Active, m.Share, m.Up, m.Since, m.Err)
		}
		return nil
	}
	_ = func(ctx context.Context, db *redisfailover.Client) error {
		sub := db.NewSubscriber(redispubsub.Opts{}).NewSubscription(redispubsub.SubscriptionOpts{})
		if err := sub.Subscribe(ctx, redispubsub.Channel("news")); err != nil {
			return err
		}
		return nil
	}
	_ = func(ctx context.Context, db *redisfailover.Client, consume func(context.Context, string, *redispubsub.Subscription)) {
		for i, m := range db.Members() {
			go func() {
				for ; ctx.Err() == nil; time.Sleep(time.Second) {
					client, ok := db.Members()[i].Sender.(*redispipe.Client)
					if !ok {
						continue // it is not open yet
					}
					sub := client.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
					if sub.Subscribe(ctx, redispubsub.Channel("news")) == nil {
						consume(ctx, m.Name, sub) // until ctx is done
					}
					sub.Close()
				}
			}()
		}
	}
	_ = func(ctx context.Context) error {
		near, err := redispipe.Open(ctx, "redis://near:6379")
		if err != nil {
			return err
		}
		cache, err := rediscache.New(near, rediscache.Opts{Prefixes: []string{"user:"}})
		if err != nil {
			return err
		}
		db, err := redisfailover.Open(ctx, []redisfailover.Member{
			{Name: "near", Sender: cache, Weight: 2}, // closed with db
			{Name: "far", URL: "redis://far:6379", Weight: 1},
		}, redisfailover.Opts{})
		_ = db
		return err
	}
)
