package main

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
)

// clusterUsage shows the differences from usage.go if the server is a cluster.
func clusterUsage(ctx context.Context, cluster *rediscluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	// Requests go to the node that has their slot. Everything else is as with one server.
	db := redis.SyncCtx{S: cluster}
	res := db.Do(ctx, "SET", "quickstart:greeting", "hello")
	if err := redis.Err(res); err != nil {
		return err
	}
	show("SET", res)

	// Reads may go to replicas, which may lag behind their master.
	replicas := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	show("GET from a replica", replicas.Do(ctx, "GET", "quickstart:greeting"))

	// All keys of a transaction must be in one slot. The part of a key in braces decides which.
	results, err := db.Transact(ctx, []redis.Request{
		redis.Req("INCR", "{quickstart}:counter"),
		redis.Req("RPUSH", "{quickstart}:list", "a", "b"),
	})
	if err != nil {
		return err
	}
	show("Transact", results)

	// A request with keys in several slots is refused before anything is sent, unless the command
	// may be split.
	mget := redis.Req("MGET", "quickstart:greeting", "{quickstart}:counter")
	if err := redis.AsErrorx(db.Send(ctx, mget)); err.IsOfType(redis.ErrNoSlotKey) {
		show("MGET, split", rediscluster.SendSplit(ctx, cluster, mget))
	}

	// Some commands are sent to every master.
	for _, res := range rediscluster.DoEachShard(ctx, cluster, redis.Req("DBSIZE")) {
		show("DBSIZE of a master", res)
	}
	return nil
}
