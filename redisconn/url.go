package redisconn

import (
	"crypto/tls"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// ParseURL makes the arguments of Connect of a URL:
//
//	redis://user:password@host:6379/0
//	rediss://host                                 with TLS
//	unix://user:password@/path/to/socket?db=1
//
// valkey:// and valkeys:// are the same as redis:// and rediss://. Without a host
// it is localhost, without a port 6379. User and password are percent-decoded.
//
// Parameters have the names of go-redis: db, which beats the path, dial_timeout,
// read_timeout (IOTimeout; write_timeout is used where it is missing), protocol,
// read_only, skip_verify, username, password and client_name. Those of its pool and retries are
// accepted and have no effect. Other clients' spellings are accepted too, if they
// do not contradict: socket_timeout, socket_connect_timeout, ssl_cert_reqs, and
// database; timeout needs a unit. A number alone is seconds; no more than zero turns
// a time-out off; an empty value is the default.
//
// Any other parameter, more than one address, and what makes no sense is
// redis.ErrURL. Neither it nor the options, when they are printed, show a password.
func ParseURL(url string) (addr string, opts Opts, err error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return "", Opts{}, err
	}
	switch {
	case u.Sentinel:
		return "", Opts{}, redis.ErrURL.New("a connection can't ask sentinels: see rediscluster.ParseSentinelURL")
	case len(u.Addrs) > 1:
		return "", Opts{}, redis.ErrURL.New("a connection has one address: for a cluster see rediscluster.ParseURL")
	case u.MaxRedirects != 0:
		return "", Opts{}, redis.ErrURL.New("the parameter max_redirects is for clusters: see rediscluster.ParseURL")
	}
	return u.Addrs[0], OptsOfURL(u), nil
}

// OptsOfURL is for package rediscluster.
func OptsOfURL(u *redisurl.URL) Opts {
	opts := Opts{
		DB:          u.DB,
		Username:    u.Username,
		Password:    u.Password,
		ClientName:  u.ClientName,
		Protocol:    u.Protocol,
		ReadOnly:    u.ReadOnly,
		IOTimeout:   u.ReadTimeout,
		DialTimeout: u.DialTimeout,
		TLSEnabled:  u.TLS,
	}
	if opts.IOTimeout == 0 {
		opts.IOTimeout = u.WriteTimeout
	}
	if u.SkipVerify {
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	}
	return opts
}
