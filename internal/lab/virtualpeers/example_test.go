package virtualpeers

import (
	"context"
	"net"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
)

// The code in docs/virtual.md and the README, compiled.
var (
	_ = func(conn *redisconn.Connection) *asynq.Client {
		rdb := goredis.NewClient(&goredis.Options{
			Addr:     conn.Addr(),
			Dialer:   redisvirtual.Dialer(conn),
			PoolSize: 1000, // limits the requests in flight at the same time
		})
		jobs := asynq.NewClientFromRedisClient(rdb)
		return jobs
	}
	_ = func(conn *redisconn.Connection) *goredis.Client {
		rdb := goredis.NewClient(&goredis.Options{
			Addr:   conn.Addr(),
			Dialer: redisvirtual.Dialer(redis.WithPrefix(conn, "t1:")),
		})
		return rdb
	}
	_ = func(cluster *rediscluster.Cluster) *goredis.ClusterClient {
		rdb := goredis.NewClusterClient(&goredis.ClusterOptions{
			Addrs:  []string{"node1:7000", "node2:7000"},
			Dialer: redisvirtual.Dialer(cluster),
		})
		return rdb
	}
	_ = func(shared *rediscluster.Cluster, sentinels []string) *goredis.Client {
		rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: "mymaster", SentinelAddrs: sentinels,
			Dialer: redisvirtual.Dialer(shared), // of rediscluster.NewSentinel
		})
		return rdb
	}
	_ = func(cluster *rediscluster.Cluster) *goredis.Client {
		rdb := goredis.NewClient(&goredis.Options{
			Dialer: func(context.Context, string, string) (net.Conn, error) { return redisvirtual.Conn(cluster), nil },
		})
		return rdb
	}
	_ = func(addr string, conn *redisconn.Connection) *goredis.Client {
		rdb := goredis.NewClient(&goredis.Options{Addr: addr, Dialer: redisvirtual.Dialer(conn)})
		return rdb
	}
)
