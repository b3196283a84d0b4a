// Package pubsub measures subscribers of several clients: messages a second through one
// subscriber, and the time from PUBLISH to the consumer.
//
//	go test -run '^$' -bench . ./pubsub
package pubsub
