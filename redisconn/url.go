package redisconn

import (
	"cmp"
	"crypto/tls"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// ParseURL converts a URL to the arguments of [Connect]:
//
//	redis://user:password@host:6379/0
//	rediss://host                                 with TLS
//	unix://user:password@/path/to/socket?db=1
//
// valkey:// and valkeys:// are the same as redis:// and rediss://. The default host is localhost,
// the default port 6379. User and password are percent-decoded.
//
// The parameters are named as in go-redis: db, which overrides the path, dial_timeout, read_timeout
// (IOTimeout; if it is missing, write_timeout), protocol, read_only, skip_verify, username,
// password and client_name. Parameters of go-redis's pool and retries are accepted and have no
// effect. Names that other clients use are accepted too, unless they contradict each other:
// socket_timeout, socket_connect_timeout, ssl_cert_reqs, database, and timeout, which needs a unit.
// A time-out without a unit is in seconds. A time-out of zero or less turns it off, and an empty
// value means the default.
//
// Any other parameter, a second address or an invalid value is a [redis.ErrURL]. Neither the error
// nor the printed options show a password. So the error names an unknown parameter only if the name
// can't be part of a password.
func ParseURL(url string) (addr string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return "", Opts{}, err
	}
	switch {
	case u.Sentinel:
		return "", Opts{}, redis.ErrURL.New("a connection can't ask sentinels: see rediscluster.ParseSentinelURL")
	case u.Replicated:
		return "", Opts{}, redis.ErrURL.New("a connection has one server: see rediscluster.ParseReplicatedURL")
	case u.Cluster, len(u.Addrs) > 1:
		return "", Opts{}, redis.ErrURL.New("a connection has one address: for a cluster see rediscluster.ParseURL")
	case u.MaxRedirects != 0:
		return "", Opts{}, redis.ErrURL.New("the parameter max_redirects is for clusters: see rediscluster.ParseURL")
	}
	return u.Addrs[0], optsOfURL(u), nil
}

func init() { backend.OptsOfURL = func(u *redisurl.URL) any { return optsOfURL(u) } }

// optsOfURL returns the connection options in a URL.
func optsOfURL(u *redisurl.URL) Opts {
	opts := Opts{
		DB:          u.DB,
		Username:    u.Username,
		Password:    u.Password,
		ClientName:  u.ClientName,
		Protocol:    u.Protocol,
		ReadOnly:    u.ReadOnly,
		IOTimeout:   cmp.Or(u.ReadTimeout, u.WriteTimeout),
		DialTimeout: u.DialTimeout,
		TLSEnabled:  u.TLS,
	}
	if u.SkipVerify {
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	}
	return opts
}
