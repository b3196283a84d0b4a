// Package redisurl parses URLs of Redis servers in the forms that clients of many languages use.
// Errors show no part of a URL except the name of a parameter.
package redisurl

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// URL is the content of a URL. A field that the URL does not set is zero.
type URL struct {
	// Addrs are host:port, or one path if Unix is set. There is at least one.
	Addrs []string
	Unix  bool

	TLS, SkipVerify    bool
	Username, Password string
	ClientName         string
	DB                 int
	Protocol           int
	ReadOnly           bool
	// A value of -1 means no time-out.
	DialTimeout, ReadTimeout, WriteTimeout time.Duration
	MaxRedirects                           int

	// Cluster is set if the scheme says that Addrs are nodes of a cluster. Replicated is set if the
	// scheme says that Addrs are a master and its replicas.
	Cluster, Replicated bool
	// Sentinel is set if Addrs are sentinels. Then MasterName is not empty. The other two fields are
	// for the sentinels themselves.
	Sentinel                           bool
	MasterName                         string
	SentinelUsername, SentinelPassword string
}

// schemes has the fields that each scheme sets.
var schemes = map[string]URL{
	"redis":             {},
	"valkey":            {},
	"rediss":            {TLS: true},
	"valkeys":           {TLS: true},
	"unix":              {Unix: true},
	"redis-socket":      {Unix: true},
	"redis-cluster":     {Cluster: true},
	"rediss-cluster":    {Cluster: true, TLS: true},
	"redis-replicated":  {Replicated: true},
	"rediss-replicated": {Replicated: true, TLS: true},
	"redis-sentinel":    {Sentinel: true},
	"redis+sentinel":    {Sentinel: true},
	"rediss-sentinel":   {Sentinel: true, TLS: true},
}

const (
	defaultHost         = "localhost"
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
)

// Parse parses a URL. Errors are of type redis.ErrURL.
func Parse(text string) (*URL, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errs.ErrURL.New("it is empty")
	}
	name, rest, found := strings.Cut(text, "://")
	u, known := schemes[strings.ToLower(name)]
	if !found || !known {
		return nil, errs.ErrURL.New("it does not begin with redis://, rediss://, valkey://, valkeys://, unix://, redis-cluster://, redis-sentinel:// or redis-replicated://")
	}
	authority, rest := cutAny(rest, "/?#")
	// The password ends with @. If @ is missing, an unencoded password could be mistaken for a
	// parameter or a name, and be shown.
	if strings.Contains(rest, "@") {
		return nil, errs.ErrURL.New("there is an @ after the host: in users, passwords and parameters /, ?, # and @ must be percent-encoded")
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := u.setUser(authority[:at]); err != nil {
			return nil, err
		}
		authority = authority[at+1:]
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, errs.ErrURL.New("its path is not percent-encoded correctly")
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return nil, errs.ErrURL.New("its parameters are not percent-encoded correctly")
	}
	if fragment != "" && !u.Sentinel {
		return nil, errs.ErrURL.New("it has a fragment (#)")
	}
	if fragment != "" && (params.Has("password") || params.Has("sentinel_password")) {
		// An error may show the name of a master, but this text may be the rest of the password.
		return nil, errs.ErrURL.New("there is a # after a password, where it must be percent-encoded: name the master with master_name")
	}
	u.MasterName = fragment
	if err := u.setPlace(authority, path); err != nil {
		return nil, err
	}
	if !u.Unix && !u.Sentinel && !u.Cluster && !u.Replicated && params.Get("master_name") != "" {
		u.setFailover()
	}
	if err := u.setParams(params); err != nil {
		return nil, err
	}
	if u.Sentinel && u.MasterName == "" {
		return nil, errs.ErrURL.New("it names no master: redis-sentinel://host:port/name, or the parameter master_name")
	}
	return &u, nil
}

// cutAny cuts s before the first of the given bytes.
func cutAny(text, bytes string) (before, after string) {
	if i := strings.IndexAny(text, bytes); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

func (u *URL) setUser(info string) *errorx.Error {
	name, password, _ := strings.Cut(info, ":")
	var err, err2 error
	u.Username, err = url.PathUnescape(name)
	u.Password, err2 = url.PathUnescape(password)
	if err != nil || err2 != nil {
		return errs.ErrURL.New("its user or password is not percent-encoded correctly")
	}
	return nil
}

// setFailover turns a redis:// URL that names a master into a URL of sentinels, as go-redis does.
// Its user name and password are for the sentinels. Those for the servers are in parameters.
func (u *URL) setFailover() {
	u.Sentinel = true
	u.SentinelUsername, u.SentinelPassword = u.Username, u.Password
	u.Username, u.Password = "", ""
}

// setPlace sets the addresses from the authority, and the database from the path.
func (u *URL) setPlace(authority, path string) *errorx.Error {
	if u.Unix {
		switch {
		case authority != "":
			return errs.ErrURL.New("a unix socket has no host: unix:///path")
		case strings.Trim(path, "/ ") == "" || strings.ContainsRune(path, 0):
			return errs.ErrURL.New("a unix socket needs a path: unix:///path")
		}
		u.Addrs = []string{path}
		return nil
	}
	for hostPort := range strings.SplitSeq(authority, ",") {
		if hostPort == "" && authority != "" {
			return errs.ErrURL.New("one of its addresses is empty")
		}
		if err := u.addAddr(hostPort); err != nil {
			return err
		}
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if u.Sentinel && len(parts) > 0 {
		if _, err := strconv.Atoi(parts[0]); err != nil || len(parts) == 2 {
			u.MasterName, parts = parts[0], parts[1:]
		}
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return u.setDB(parts[0])
	}
	return errs.ErrURL.New("its path is not that of a database: redis://host:port/number")
}

// addAddr adds an address. The port, and also the host, may be missing.
func (u *URL) addAddr(hostPort string) *errorx.Error {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		host, port = hostPort, ""
		if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
			host = host[1 : len(host)-1]
		} else if strings.Contains(host, ":") {
			return errs.ErrURL.New("an address is not host:port (of IPv6: [host]:port)")
		}
	}
	host = cmp.Or(host, defaultHost)
	if port == "" {
		port = defaultPort
		if u.Sentinel {
			port = defaultSentinelPort
		}
	}
	host, err = url.PathUnescape(host) // an IPv6 zone is written as %25
	if err != nil || !IsHost(host) {
		return errs.ErrURL.New("an address has a host that can't be one")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errs.ErrURL.New("an address has a port that is not from 1 to 65535")
	}
	u.Addrs = append(u.Addrs, net.JoinHostPort(host, port))
	return nil
}

func (u *URL) setDB(text string) *errorx.Error {
	db, err := strconv.Atoi(text)
	if err != nil || db < 0 {
		return errs.ErrURL.New("its database is not a number from 0 on")
	}
	u.DB = db
	return nil
}

// MayHoldSecret reports whether text, which should be an address, is neither a path nor a host,
// with or without a port. It may then be a URL or another client's settings, and contain a
// password. Such text is refused before anything else, and never appears in an error, event, name
// or statistic.
func MayHoldSecret(text string) bool {
	scheme, rest, found := strings.Cut(text, "://")
	switch {
	case found && scheme == "unix":
		return strings.Contains(rest, "?") || !isPath(rest) && strings.LastIndexByte(rest, '@') > 0 || isAuthority(rest)
	case found && scheme != "tcp":
		return true
	case found:
		text = rest
	case isPath(text):
		return isAuthority(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil { // text may be a host without a port
		host, port = text, ""
	}
	return !IsHost(host) || strings.ContainsFunc(port, notOfPort) || err != nil && strings.Contains(host, ":")
}

// isPath reports whether text is only a path. It may contain @, and an abstract unix socket begins
// with @.
func isPath(text string) bool { return strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") }

// isAuthority reports whether a path is the rest of a URL whose scheme is missing.
func isAuthority(path string) bool {
	return strings.HasPrefix(path, "//") && strings.Contains(path, "@")
}

// notOfPort reports whether r can't be in a port, which is a number or a name such as http.
func notOfPort(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-')
}
