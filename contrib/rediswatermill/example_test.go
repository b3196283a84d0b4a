package rediswatermill_test

import (
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/rediswatermill"
	"github.com/joomcode/redispipe/redis"
)

// AddBilling adds a handler of orders to a router. The handlers of all processes share the orders.
func AddBilling(router *message.Router, db *redispipe.Client, hostname string, logger watermill.LoggerAdapter, bill message.HandlerFunc) error {
	publisher := rediswatermill.NewPublisher(db, rediswatermill.PublisherOpts{MaxLen: 1_000_000})
	subscriber, err := rediswatermill.NewSubscriber(db, redis.GroupOpts{
		Group: "billing", Consumer: hostname, MinIdle: time.Minute,
	}, logger)
	if err != nil {
		return err
	}
	router.AddHandler("bill", "orders", subscriber, "bills", publisher, bill)
	return nil
}

var _ = AddBilling
