package rediscluster

import (
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// ParseURL converts a URL to the arguments of [NewCluster]. It names one node or more:
//
//	rediss://user:password@node1:7000?addr=node2:7000&addr=node3:7000
//	redis://node1:7000,node2:7000
//	redis-cluster://node1:7000/1                  rediss-cluster:// with TLS
//
// See [redisconn.ParseURL] for the other parameters. max_redirects is
// Opts.MovedRetries. A database other than 0 needs servers that have several in a cluster:
// see Opts.HostOpts. The parameter read_only is a [redis.ErrURL]: use [Cluster.WithPolicy]
// instead.
func ParseURL(url string) (addrs []string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return nil, Opts{}, err
	}
	switch {
	case u.Sentinel:
		return nil, Opts{}, redis.ErrURL.New("sentinels watch no cluster: see ParseSentinelURL")
	case u.Replicated:
		return nil, Opts{}, redis.ErrURL.New("a master with replicas is not a cluster: see ParseReplicatedURL")
	case u.Unix:
		return nil, Opts{}, redis.ErrURL.New("the nodes of a cluster are host:port, after redis://, rediss://, valkey:// or valkeys://")
	case u.ReadOnly:
		return nil, Opts{}, errReadOnly()
	}
	return u.Addrs, Opts{HostOpts: hostOpts(u), MovedRetries: u.MaxRedirects}, nil
}

// ParseReplicatedURL converts a URL to the arguments of [NewReplicated]. It names one
// server or more. One of them is the master:
//
//	redis-replicated://user:password@primary:6379,reader:6379/0
//	rediss-replicated://primary?addr=reader       with TLS
//
// See [redisconn.ParseURL] for the parameters. Bad input is a [redis.ErrURL], which does
// not show the password.
func ParseReplicatedURL(url string) (addrs []string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return nil, Opts{}, err
	}
	switch {
	case !u.Replicated:
		return nil, Opts{}, redis.ErrURL.New("it does not begin with redis-replicated:// or rediss-replicated://")
	case u.ReadOnly:
		return nil, Opts{}, errReadOnly()
	case u.MaxRedirects != 0:
		return nil, Opts{}, errMaxRedirects()
	}
	return u.Addrs, Opts{HostOpts: hostOpts(u)}, nil
}

func errReadOnly() error {
	return redis.ErrURL.New("the parameter read_only has no counterpart: see Cluster.WithPolicy")
}

func errMaxRedirects() error {
	return redis.ErrURL.New("the parameter max_redirects is for clusters: see ParseURL")
}

// hostOpts returns the connection options in a URL.
func hostOpts(u *redisurl.URL) redisconn.Opts { return backend.OptsOfURL(u).(redisconn.Opts) }

// ParseSentinelURL converts a URL to the arguments of [NewSentinel]. It names one
// sentinel or more, and the master:
//
//	redis-sentinel://user:password@sentinel1:26379,sentinel2:26379/mymaster/0
//	redis-sentinel://sentinel1?master_name=mymaster&sentinel_password=secret
//	redis://sentinel1:26379?master_name=mymaster&addr=sentinel2:26379&password=secret
//
// The last form is that of go-redis, with the same meaning: redis:// or rediss:// with
// the parameter master_name. In that form the user and password before the host are for the
// sentinels, the parameters username and password are for the servers, and the default port
// is 6379. In every form, reads go to the master unless you use [Cluster.WithPolicy].
//
// redis+sentinel:// is the same as redis-sentinel://; rediss-sentinel:// uses TLS to sentinels and
// servers. The default port is 26379. User and password are for the servers; for the
// sentinels, use the parameters sentinel_username and sentinel_password. The
// number after the name is the database. See [redisconn.ParseURL] for the other
// parameters. Bad input is a [redis.ErrURL], which does not show the password.
func ParseSentinelURL(url string) (addrs []string, master string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return nil, "", Opts{}, err
	}
	switch {
	case !u.Sentinel:
		return nil, "", Opts{}, redis.ErrURL.New("it does not begin with redis-sentinel:// or rediss-sentinel://, and has no parameter master_name")
	case u.ReadOnly:
		return nil, "", Opts{}, errReadOnly()
	case u.MaxRedirects != 0:
		return nil, "", Opts{}, errMaxRedirects()
	}
	opts.HostOpts = hostOpts(u)
	opts.SentinelOpts = opts.HostOpts
	opts.SentinelOpts.DB, opts.SentinelOpts.Protocol = 0, 0
	opts.SentinelOpts.Username, opts.SentinelOpts.Password = u.SentinelUsername, u.SentinelPassword
	return u.Addrs, u.MasterName, opts, nil
}
