// Package redisclusterutil computes the slots of keys, and parses the answers to
// CLUSTER SLOTS, NODES and INFO.
//
// Every parser takes a result as package redis delivers it. For a malformed or
// hostile one it returns an error of package redis. It never panics, and allocates
// in proportion to its input.
package redisclusterutil
