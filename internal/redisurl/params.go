package redisurl

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// param applies a parameter of a URL. value is not empty. It returns false if value is invalid.
type param func(u *URL, value string) bool

// params are the parameters of go-redis, and names of other clients that do not conflict with them:
// redis-py's socket_timeout and socket_connect_timeout, rueidis' master_set, and lettuce's timeout,
// database, clientName and sentinelMasterId.
var params = map[string]param{
	"db":       database,
	"database": database,

	"username":          func(u *URL, v string) bool { u.Username = v; return true },
	"password":          func(u *URL, v string) bool { u.Password = v; return true },
	"sentinel_username": func(u *URL, v string) bool { u.SentinelUsername = v; return u.Sentinel },
	"sentinel_password": func(u *URL, v string) bool { u.SentinelPassword = v; return u.Sentinel },
	"master_name":       masterName,
	"master_set":        masterName,
	"sentinelMasterId":  masterName,

	"client_name": clientName,
	"clientName":  clientName,

	"protocol": func(u *URL, v string) (ok bool) {
		u.Protocol, ok = number(v)
		return ok && (u.Protocol == 2 || u.Protocol == 3)
	},
	"max_redirects": func(u *URL, v string) (ok bool) { u.MaxRedirects, ok = number(v); return ok },
	"replica_only":  func(u *URL, v string) (ok bool) { u.ReadOnly, ok = truth(v); return ok && u.Sentinel },
	"read_only":     func(u *URL, v string) (ok bool) { u.ReadOnly, ok = truth(v); return ok },
	"skip_verify":   func(u *URL, v string) (ok bool) { u.SkipVerify, ok = truth(v); return ok && u.TLS },
	"ssl_cert_reqs": func(u *URL, v string) bool {
		u.SkipVerify = v == "none"
		return u.TLS && (v == "none" || v == "required")
	},

	"dial_timeout":           dialTimeout,
	"socket_connect_timeout": dialTimeout,
	"read_timeout":           readTimeout,
	"socket_timeout":         readTimeout,
	"write_timeout":          func(u *URL, v string) (ok bool) { u.WriteTimeout, ok = duration(v); return ok },
	// lettuce and redis-py mean different units by a number without a unit.
	"timeout": func(u *URL, v string) bool {
		_, bare := number(v)
		return !bare && readTimeout(u, v)
	},
}

func database(u *URL, v string) bool   { return u.setDB(v) == nil }
func clientName(u *URL, v string) bool { u.ClientName = v; return true }
func masterName(u *URL, v string) bool { u.MasterName = v; return u.Sentinel }

func dialTimeout(u *URL, v string) (ok bool) { u.DialTimeout, ok = duration(v); return ok }
func readTimeout(u *URL, v string) (ok bool) { u.ReadTimeout, ok = duration(v); return ok }

// withoutEffect are parameters for which there is no option: those of pools and retries, and names
// of other libraries. They are accepted because they change no result, so that services with other
// clients can share a URL.
var withoutEffect = []string{
	"pool_fifo", "pool_size", "pool_timeout", "min_idle_conns", "max_idle_conns", "max_active_conns",
	"max_concurrent_dials", "max_connections", "conn_max_idle_time", "idle_timeout", "idle_check_frequency",
	"conn_max_lifetime", "max_conn_age", "conn_max_lifetime_jitter",
	"pipeline_pool_size", "pipeline_read_buffer_size", "pipeline_write_buffer_size",
	"max_retries", "min_retry_backoff", "max_retry_backoff", "dialer_retries", "dialer_retry_timeout",
	"libraryName", "libraryVersion", "disableIdentity", "identitySuffix",
	"context_timeout_enabled", "unstable_resp3",
	"failing_timeout_seconds", "health_check_interval", "retry_on_timeout", "socket_keepalive",
}

// ofReplicas are parameters that choose a replica to read from. In URLs of sentinels they have no
// effect, because reads go to the master.
var ofReplicas = []string{"route_by_latency", "route_randomly", "use_disconnected_replicas"}

// setParams applies the parameters. A parameter with an empty value leaves the default.
func (u *URL) setParams(query url.Values) *errorx.Error {
	for _, name := range slices.Sorted(maps.Keys(query)) { // sorted, so that the same error is always reported first
		values := query[name]
		if name == "addr" && !u.Unix {
			for _, value := range values {
				if err := u.addAddr(value); err != nil {
					return err
				}
			}
			continue
		}
		set, known := params[name]
		switch {
		case !known && !slices.Contains(withoutEffect, name) && !(u.Sentinel && slices.Contains(ofReplicas, name)):
			return errs.ErrURL.New("the parameter %s is unknown", u.shown(name, query))
		case len(values) > 1:
			return errs.ErrURL.New("the parameter %s is given more than once", name)
		case !known || values[0] == "":
		case set(u, values[0]):
		case name == "timeout":
			return errs.ErrURL.New("the parameter timeout is not a duration with a unit, such as 3s")
		default:
			return errs.ErrURL.New("the parameter %s has an invalid value", name)
		}
	}
	return nil
}

// maxShown is longer than the name of any parameter.
const maxShown = 32

// credentials are the parameters that hold a user, a password or a name.
var credentials = []string{"username", "password", "sentinel_username", "sentinel_password"}

// shown returns the name of an unknown parameter if it looks like one. It returns "" if the name
// may be the rest of a password that contains &.
func (u *URL) shown(name string, query url.Values) string {
	secret := u.Username != "" || u.Password != "" || u.SentinelUsername != "" || u.SentinelPassword != ""
	for other := range query {
		_, known := params[other]
		known = known || other == "addr" || slices.Contains(withoutEffect, other)
		secret = secret || !known && other != name || slices.Contains(credentials, other)
	}
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	}
	if secret || len(name) > maxShown || strings.ContainsFunc(name, other) {
		return "(hidden)"
	}
	return strconv.Quote(name)
}

func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func truth(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, true
	case "false", "0", "no":
		return false, true
	}
	return false, false
}

// duration parses a time-out: seconds, or a number with a unit. For zero and less it returns -1,
// which means no time-out.
func duration(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	if seconds, notNumber := strconv.ParseFloat(text, 64); notNumber == nil {
		const longest = float64(math.MaxInt64 / int64(time.Second))
		if math.IsNaN(seconds) || math.Abs(seconds) > longest {
			return 0, false
		}
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return 0, false
	case d <= 0:
		return -1, true
	}
	return d, true
}
