// Package redispubsub subscribes to channels, and reports which messages it may have
// missed.
//
// A [Subscriber] subscribes on one server ([New]) or on a cluster ([NewCluster]), with
// sockets of its own beside the shared ones. A [Subscription] delivers events in order:
//
//	subscriber, err := redispubsub.New(conn, redispubsub.Opts{})
//	if err != nil {
//		return err
//	}
//	defer subscriber.Close()
//	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
//	if err := sub.Subscribe(ctx, redispubsub.Channel("news")); err != nil {
//		return err
//	}
//	for ev, err := range sub.Events(ctx) {
//		if err != nil {
//			return err
//		}
//		switch ev := ev.(type) {
//		case redispubsub.Message:
//			fmt.Printf("%s: %s\n", ev.Channel, ev.Payload)
//		case redispubsub.Gap:
//			reload(ev.Topics) // messages may be missing
//		}
//	}
//
// Between two events with no [Gap] between them, nothing was lost on the way from the
// server to the consumer. Losses among the servers, as on a cluster's bus, can't be seen.
// The bus keeps the order of messages only between two nodes: messages that are published
// on several nodes, or around a failover, may come in another order, or once more from the
// new node.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the
// cluster.
package redispubsub
