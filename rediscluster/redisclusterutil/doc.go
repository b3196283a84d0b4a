// Package redisclusterutil computes the slots of keys, and parses the answers to
// CLUSTER SLOTS, NODES and INFO.
//
// Every parser takes a result as package redis returns it. If the result is malformed or
// hostile, the parser returns an error of package redis. No parser panics, and each
// allocates in proportion to its input.
package redisclusterutil
