package redisurl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

func TestParse(t *testing.T) {
	type URL = redisurl.URL
	at := func(addrs ...string) URL { return URL{Addrs: addrs} }
	for text, want := range map[string]URL{
		"redis://":                  at("localhost:6379"),
		"redis://host":              at("host:6379"),
		"REDIS://host:1/":           at("host:1"),
		"valkey://host:1":           at("host:1"),
		"redis://:1":                at("localhost:1"),
		"redis:///2":                {Addrs: []string{"localhost:6379"}, DB: 2},
		"redis://host/2":            {Addrs: []string{"host:6379"}, DB: 2},
		"redis://host/2?db=3":       {Addrs: []string{"host:6379"}, DB: 3},
		"redis://host?database=3":   {Addrs: []string{"host:6379"}, DB: 3},
		"rediss://host":             {Addrs: []string{"host:6379"}, TLS: true},
		"valkeys://host":            {Addrs: []string{"host:6379"}, TLS: true},
		"redis://[::1]":             at("[::1]:6379"),
		"redis://[::1]:1":           at("[::1]:1"),
		"redis://[fe80::1%25eth0]":  at("[fe80::1%eth0]:6379"),
		"redis://a:1?addr=b:2&addr": at("a:1", "b:2", "localhost:6379"),
		"redis://a,b:2,[::1]:3":     at("a:6379", "b:2", "[::1]:3"),
		"redis://host?addr=[::1]:2": at("host:6379", "[::1]:2"),

		"redis://user@host":                      {Addrs: []string{"host:6379"}, Username: "user"},
		"redis://:pass@host":                     {Addrs: []string{"host:6379"}, Password: "pass"},
		"redis://u%3Aser:p%40s%2F%25+s@host":     {Addrs: []string{"host:6379"}, Username: "u:ser", Password: "p@s/%+s"},
		"redis://user:a:b@c@host":                {Addrs: []string{"host:6379"}, Username: "user", Password: "a:b@c"},
		"redis://host?username=u&password=p%20w": {Addrs: []string{"host:6379"}, Username: "u", Password: "p w"},

		"unix:///run/redis.sock":                {Addrs: []string{"/run/redis.sock"}, Unix: true},
		"unix://user:pass@/run/a%20b.sock?db=1": {Addrs: []string{"/run/a b.sock"}, Unix: true, Username: "user", Password: "pass", DB: 1},
		"redis-socket:///run/redis.sock":        {Addrs: []string{"/run/redis.sock"}, Unix: true},

		"redis://h?dial_timeout=3&read_timeout=6s&write_timeout=500ms": {
			Addrs: []string{"h:6379"}, DialTimeout: 3 * time.Second, ReadTimeout: 6 * time.Second, WriteTimeout: time.Second / 2,
		},
		"redis://h?socket_connect_timeout=0.5&socket_timeout=1.25": {
			Addrs: []string{"h:6379"}, DialTimeout: time.Second / 2, ReadTimeout: 1250 * time.Millisecond,
		},
		"redis://h?timeout=10s":                  {Addrs: []string{"h:6379"}, ReadTimeout: 10 * time.Second},
		"redis://h?read_timeout=0":               {Addrs: []string{"h:6379"}, ReadTimeout: -1},
		"redis://h?read_timeout=-5s":             {Addrs: []string{"h:6379"}, ReadTimeout: -1},
		"redis://h?read_timeout=&db=":            at("h:6379"),
		"redis://h?protocol=3&max_redirects=5":   {Addrs: []string{"h:6379"}, Protocol: 3, MaxRedirects: 5},
		"redis://h?read_only=true":               {Addrs: []string{"h:6379"}, ReadOnly: true},
		"redis://h?pool_size=10&max_retries=2":   at("h:6379"),
		"rediss://h?skip_verify=true":            {Addrs: []string{"h:6379"}, TLS: true, SkipVerify: true},
		"rediss://h?skip_verify=0":               {Addrs: []string{"h:6379"}, TLS: true},
		"rediss://h?ssl_cert_reqs=none":          {Addrs: []string{"h:6379"}, TLS: true, SkipVerify: true},
		"rediss://h?ssl_cert_reqs=required&db=4": {Addrs: []string{"h:6379"}, TLS: true, DB: 4},

		"redis-cluster://u:p@a,b:1?addr=c": {Addrs: []string{"a:6379", "b:1", "c:6379"}, Cluster: true, Username: "u", Password: "p"},
		"rediss-cluster://a":               {Addrs: []string{"a:6379"}, Cluster: true, TLS: true},
		"redis-replicated://a,b:1/3":       {Addrs: []string{"a:6379", "b:1"}, Replicated: true, DB: 3},
		"rediss-replicated://a":            {Addrs: []string{"a:6379"}, Replicated: true, TLS: true},

		"redis-sentinel://a,b:1/main": {Addrs: []string{"a:26379", "b:1"}, Sentinel: true, MasterName: "main"},
		"redis-sentinel://u:p@a/main/3?sentinel_username=su&sentinel_password=sp": {
			Addrs: []string{"a:26379"}, Sentinel: true, MasterName: "main", DB: 3,
			Username: "u", Password: "p", SentinelUsername: "su", SentinelPassword: "sp",
		},
		"redis-sentinel://a/3?sentinelMasterId=main": {Addrs: []string{"a:26379"}, Sentinel: true, MasterName: "main", DB: 3},
		"redis-sentinel://a?addr=b&master_name=main": {Addrs: []string{"a:26379", "b:26379"}, Sentinel: true, MasterName: "main"},
		"redis-sentinel://a/0#main":                  {Addrs: []string{"a:26379"}, Sentinel: true, MasterName: "main"},
		"redis+sentinel://a/7/3":                     {Addrs: []string{"a:26379"}, Sentinel: true, MasterName: "7", DB: 3},
		"rediss-sentinel://a?master_set=main":        {Addrs: []string{"a:26379"}, Sentinel: true, TLS: true, MasterName: "main"},
	} {
		got, err := redisurl.Parse(text)
		if assert.NoError(t, err, text) {
			assert.Equal(t, &want, got, text)
		}
	}
}

// malformed has URLs that contain "canary" in a place that an error must not show.
var malformed = map[string]string{
	"canary:6379":                         "does not begin with",
	"http://canary":                       "does not begin with",
	"canary://host":                       "does not begin with",
	"redis:/canary":                       "does not begin with",
	"redis://canary:canary":               "port",
	"":                                    "it is empty",
	" ":                                   "it is empty",
	"redis://canary:0":                    "port",
	"redis://canary:65536":                "port",
	"redis://canary:1:2":                  "[host]:port",
	"redis://::1":                         "[host]:port",
	"redis-cluster://canary:1,":           "addresses is empty",
	"redis-cluster://canary:1,,canary:2":  "addresses is empty",
	"redis-sentinel://user:canary@,/main": "addresses is empty",
	"redis://[canary":                     "host that",
	"redis://can ary":                     "host",
	"redis://host/canary":                 "database",
	"redis://host/-1":                     "database",
	"redis://host/1/canary":               "path",
	"redis://host/99999999999999999999":   "database",
	"redis://host#canary":                 "fragment",
	"redis://host/%zzcanary":              "percent-encoded",
	"redis://host?canary%zz":              "percent-encoded",
	"redis://u:canary%zz@host":            "percent-encoded",
	"redis://u:c/canary@host":             "percent-encoded",
	"redis://u:?canary@host":              "percent-encoded",
	"redis://u:#canary@host":              "percent-encoded",
	"redis://host?unknown=canary":         `"unknown" is unknown`,
	"redis://host?Db=1&db=1":              `"Db" is unknown`,
	"redis://host?password=a&canary":      "(hidden) is unknown",
	"redis://host?canary&password=a":      "(hidden) is unknown",
	"redis://host?username=a&canary=b":    "(hidden) is unknown",
	"redis://host?pwd=a&canary=b":         "(hidden) is unknown",
	"redis://host?password=a&b=c&canary":  "(hidden) is unknown",
	"redis://u:p@host?canary":             "(hidden) is unknown",
	"redis://token@host?canary=a":         "(hidden) is unknown",
	"unix://u:p@/run/redis.sock?canary":   "(hidden) is unknown",
	"redis-sentinel://h/main?sentinel_password=a&canary": "(hidden) is unknown",
	"redis://host?a%20canary=1":                          "(hidden) is unknown",
	"redis://host?password=canary&password=x":            "password is given more than once",
	"redis://host?db=canary":                             "parameter db",
	"redis://host?db=-1":                                 "parameter db",
	"redis://host?protocol=4":                            "parameter protocol",
	"redis://host?read_timeout=canary":                   "parameter read_timeout",
	"redis://host?read_timeout=nan":                      "parameter read_timeout",
	"redis://host?read_timeout=1e30":                     "parameter read_timeout",
	"redis://host?timeout=10":                            "such as 3s",
	"redis://host?read_only=canary":                      "parameter read_only",
	"redis://host?skip_verify=true":                      "parameter skip_verify",
	"rediss://host?ssl_cert_reqs=canary":                 "parameter ssl_cert_reqs",
	"redis://host?sentinel_password=canary":              "parameter sentinel_password",
	"redis://host?master_set=canary":                     "parameter master_set",
	"redis://:canary@host?master_name=m&canary":          "(hidden) is unknown",
	"redis://host/m?master_name=canary":                  "database",
	"redis://host?replica_only=true":                     "parameter replica_only",
	"unix:///run/redis.sock?master_name=canary":          "parameter master_name",
	"redis://host?addr=canary:x":                         "port",
	"unix://canary/run/redis.sock":                       "unix:///path",
	"unix://":                                            "needs a path",
	"unix:///canary%00":                                  "needs a path",
	"unix:///run/redis.sock?addr=canary":                 `"addr" is unknown`,
	"redis-sentinel://host?password=a#canary":            "# after a password",
	"redis-sentinel://canary":                            "names no master",
	"redis-sentinel://canary/1":                          "names no master",
	"redis-sentinel://canary/main/1/2":                   "path",
	"redis-sentinel://host/main/canary":                  "database",
}

func TestParseErrors(t *testing.T) {
	for text, want := range malformed {
		u, err := redisurl.Parse(text)
		if assert.Error(t, err, text) {
			assert.Nil(t, u)
			assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), text)
			assert.Contains(t, err.Error(), want, text)
			assert.NotContains(t, err.Error(), "canary")
		}
	}
}

// FuzzParse checks that nothing panics, that errors show nothing of a password, and
// that what was parsed can be used.
func FuzzParse(f *testing.F) {
	for text := range malformed {
		f.Add(text)
	}
	f.Add("redis-sentinel://u:p@a,b:1/main/3?sentinel_username=su&timeout=1s#x")
	f.Fuzz(func(t *testing.T, text string) {
		const password = "5ecret%5Fpassword"
		scheme, rest, _ := strings.Cut(text, "://")
		for _, text := range []string{text, scheme + "://user:" + password + "@" + rest} {
			u, err := redisurl.Parse(text)
			if err != nil {
				require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL))
				require.NotContains(t, err.Error(), "5ecret")
				continue
			}
			require.NotEmpty(t, u.Addrs)
			require.NotContains(t, u.Addrs, "")
			require.GreaterOrEqual(t, u.DB, 0)
			require.Equal(t, u.Sentinel, u.MasterName != "")
		}
	})
}

// TestT21Addresses of package torture tests texts that may hold a secret.
func TestMayHoldSecret(t *testing.T) {
	for _, addr := range []string{
		"", "host", "host:6379", ":6379", "host:", "host:http", "host.local.:1", "my_host-1:1", "host:-1", "127.0.0.1:6379",
		"[::1]:6379", "[fe80::1%eth0]:6379", "tcp://host:6379", "tcp://[::1]:1", "хост:1",
		"/run/redis.sock", "./redis.sock", "../a", "/run/user@1000.service/redis.sock", "/a?b", "/a=b,c",
		"unix:///run/redis.sock", "unix:///run/user@1000.service/redis.sock", "unix://./a@b", "unix://redis.sock",
		"unix://@abstract", "unix://", "tcp://",
	} {
		assert.False(t, redisurl.MayHoldSecret(addr), addr)
	}
	for _, addr := range []string{
		"://", "redis://host", "user@host:1", "@host:1", "unix://a@b", "unix://@a@b", "unix:///a?b", "//a@b/c", "unix:////a@b",
		"host:1,db=2", "host;1", "host:1:2", "::1", "::1:6379", "[::1]", "host/1:1", "host:1/0", "ho st:1", "host:1\n", "tcp://a@b:1",
		"a\xff:1", "a\u009b:1", "a\u2028:1", "\u202ea:1",
	} {
		assert.True(t, redisurl.MayHoldSecret(addr), addr)
	}
}
