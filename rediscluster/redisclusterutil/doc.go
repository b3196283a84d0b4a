// Package redisclusterutil holds what is pure about a Redis Cluster: the slot
// of a key, and parsers of what CLUSTER SLOTS, SHARDS, NODES and INFO answer.
//
// Every parser takes a result as package redis delivers it and survives a
// hostile one: it returns an error of package redis, never panics, and
// allocates in proportion to its input.
package redisclusterutil
