package redisreply

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// PendingSummary is the reply to XPENDING with only a key and a group.
type PendingSummary struct {
	Count int64
	// Lowest and Highest are the first and the last ID. They are empty if there are no entries.
	Lowest  string `redis:",omitempty"`
	Highest string `redis:",omitempty"`
	// Consumers maps consumers with pending entries to the number of entries.
	Consumers map[string]int64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *PendingSummary) UnmarshalRedis(res any) error {
	type plain PendingSummary
	return inOrder((*plain)(p), res)
}

// PendingEntry is an element of the reply to XPENDING with a range of IDs.
type PendingEntry struct {
	ID       string
	Consumer string
	// Idle is the time since the entry was last delivered.
	Idle       time.Duration `redis:",ms,omitempty"`
	Deliveries int64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *PendingEntry) UnmarshalRedis(res any) error {
	type plain PendingEntry
	return inOrder((*plain)(p), res)
}

// Delivery is an entry of the reply to XREADGROUP with CLAIM, which is a map[string][]Delivery[T].
type Delivery[T any] struct {
	ID    string
	Value T
	// Idle is the time since the entry was last delivered, and Deliveries the number of earlier
	// deliveries. Both are 0 for a new entry.
	Idle       time.Duration `redis:",ms,omitempty"`
	Deliveries int64         `redis:",omitempty"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (d *Delivery[T]) UnmarshalRedis(res any) error {
	type plain Delivery[T]
	return inOrder((*plain)(d), res)
}

// Stream is the reply to XINFO STREAM without FULL. Redis has MaxDeletedID, EntriesAdded and
// FirstRecordedID from 7.0 on.
type Stream struct {
	Length          int64  `redis:"length"`
	Groups          int64  `redis:"groups"`
	LastGeneratedID string `redis:"last-generated-id"`
	MaxDeletedID    string `redis:"max-deleted-entry-id,omitempty"`
	EntriesAdded    int64  `redis:"entries-added,omitempty"`
	FirstRecordedID string `redis:"recorded-first-entry-id,omitempty"`
	RadixTreeKeys   int64  `redis:"radix-tree-keys"`
	RadixTreeNodes  int64  `redis:"radix-tree-nodes"`
	// First and Last are nil if the stream is empty.
	First *redis.Entry[map[string]string] `redis:"first-entry"`
	Last  *redis.Entry[map[string]string] `redis:"last-entry"`
}

// Group is an element of the reply to XINFO GROUPS. Redis has EntriesRead and Lag from 7.0 on. They
// are nil if the server does not know them.
type Group struct {
	Name            string `redis:"name"`
	Consumers       int64  `redis:"consumers"`
	Pending         int64  `redis:"pending"`
	LastDeliveredID string `redis:"last-delivered-id"`
	EntriesRead     *int64 `redis:"entries-read"`
	Lag             *int64 `redis:"lag"`
}

// Consumer is an element of the reply to XINFO CONSUMERS.
type Consumer struct {
	Name    string `redis:"name"`
	Pending int64  `redis:"pending"`
	// Idle is the time since the consumer last tried to read.
	Idle time.Duration `redis:"idle,ms"`
	// Inactive is the time since the consumer last succeeded in reading. It is negative if the
	// consumer never has, and nil with servers before Redis 7.2.
	Inactive *time.Duration `redis:"inactive,ms"`
}

// Claimed is the reply to XAUTOCLAIM. T is a [redis.Entry] or, with JUSTID, a string.
type Claimed[T any] struct {
	// Next is the start of the next step; "0-0" is the end.
	Next  string
	Items []T
	// Deleted are the IDs of pending entries that the stream no longer has. Servers before Redis 7.0
	// do not return them.
	Deleted []string
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (c *Claimed[T]) UnmarshalRedis(res any) error {
	type plain Claimed[T]
	return inOrder((*plain)(c), res)
}
