// Package redispubsub subscribes to channels, and reports what it could not see.
//
// A [Subscriber] subscribes on one server ([New]) or on a cluster ([NewCluster]), with
// sockets of its own beside the shared ones. Its subscriptions take events in order:
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
// Between two events without a [Gap] nothing was lost on the way from the server to the
// consumer. What servers lose among themselves, as on a cluster's bus, nobody can see. The
// bus has an order for each pair of nodes only: messages that are published on several
// nodes, or around a failover, may come in another order, or again from the new node.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the
// cluster.
package redispubsub
