package rediscluster

import (
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// ParseURL makes the arguments of NewCluster of a URL, which names one node or more:
//
//	rediss://user:password@node1:7000?addr=node2:7000&addr=node3:7000
//	redis://node1:7000,node2:7000
//
// See redisconn.ParseURL for what else there may be. max_redirects is
// Opts.MovedRetries. A database other than 0, which clusters do not have, and
// read_only, for which Cluster.WithPolicy is, are redis.ErrURL.
func ParseURL(url string) (addrs []string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return nil, Opts{}, err
	}
	switch {
	case u.Sentinel || u.Unix:
		return nil, Opts{}, redis.ErrURL.New("the nodes of a cluster are host:port, after redis://, rediss://, valkey:// or valkeys://")
	case u.DB != 0:
		return nil, Opts{}, redis.ErrURL.New("clusters have the database 0 only")
	case u.ReadOnly:
		return nil, Opts{}, redis.ErrURL.New("the parameter read_only has no counterpart: see Cluster.WithPolicy")
	}
	return u.Addrs, Opts{HostOpts: redisconn.OptsOfURL(u), MovedRetries: u.MaxRedirects}, nil
}
