package topology

import (
	"bufio"
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// fields makes a sentinel's answer about one server.
func fields(pairs ...string) []any {
	list := make([]any, len(pairs))
	for i, s := range pairs {
		list[i] = []byte(s)
	}
	return list
}

// sentinelAnswers returns the answers of a sentinel that knows another sentinel, and a master with three
// replicas. Two of the replicas are usable.
func sentinelAnswers() []any {
	addr := fields("10.0.0.1", "6379")
	return []any{
		addr,
		fields("name", "main", "ip", "10.0.0.1", "port", "6379", "runid", "4d9e", "flags", "master", "config-epoch", "7", "quorum", "2"),
		addr,
		[]any{
			fields("ip", "10.0.0.2", "port", "6379", "runid", "77aa", "flags", "slave", "master-link-status", "ok"),
			fields("ip", "::1", "port", "6380", "flags", "slave", "replica-announced", "1"),
			fields("ip", "10.0.0.4", "port", "6379", "flags", "s_down,slave,disconnected"),
			fields("ip", "10.0.0.5", "port", "6379", "flags", "slave", "replica-announced", "0"),
			fields("ip", "10.0.0.1", "port", "6379", "flags", "slave,promoted"),
			fields("ip", "10.0.0.6", "port", "0", "flags", "slave"),
		},
		[]any{
			fields("ip", "sentinel.example", "port", "26379", "runid", "s2", "flags", "sentinel"), fields("ip", ""),
			fields("ip", "10.0.0.9", "port", "26379", "runid", "s3", "flags", "s_down,sentinel"),
		},
		[]byte("# Sentinel\r\nsentinel_masters:1\r\nsentinel_tilt:0\r\n"),
		[]byte("s1"),
	}
}

func TestParseReport(t *testing.T) {
	r, err := ParseReport(sentinelAnswers())
	require.Nil(t, err)
	assert.Equal(t, Report{
		id: "s1", master: "10.0.0.1:6379", run: "4d9e", epoch: 7, quorum: 2,
		replicas: []string{"10.0.0.2:6379", "[::1]:6380"},
		servers: map[string]bool{
			"10.0.0.1:6379": true, "4d9e": true, "10.0.0.2:6379": true, "77aa": true, "[::1]:6380": true,
			"10.0.0.4:6379": true, "10.0.0.5:6379": true,
		},
		Others: []string{"sentinel.example:26379", "10.0.0.9:26379"},
		ids:    map[string]string{"sentinel.example:26379": "s2", "10.0.0.9:26379": "s3"},
		alive:  memory{"s2": true},
	}, r)

	for name, tt := range map[string]struct {
		at   int
		res  any
		want *errorx.Type
	}{
		"unknown master":      {0, nil, ErrMasterUnknown},
		"unknown, as error":   {1, redis.ErrResult.New("ERR No such master with that name"), ErrMasterUnknown},
		"plain Redis":         {0, redis.ErrResult.New("ERR unknown command 'SENTINEL'"), ErrNotSentinel},
		"no rights":           {0, redis.ErrResult.New("NOPERM no"), ErrNoSentinel},
		"no address":          {0, fields("", "1"), ErrNoSentinel},
		"no epoch":            {1, fields("ip", "10.0.0.1"), ErrNoSentinel},
		"failover in between": {2, fields("10.0.0.2", "6379"), ErrNoSentinel},
		"nonsense":            {0, int64(1), ErrNoSentinel},
		"no host":             {0, fields("10.0.0.1\n", "6379"), ErrNoSentinel},
		"lost":                {0, redis.ErrIO.New("gone"), redis.ErrIO},
	} {
		answers := sentinelAnswers()
		answers[tt.at] = tt.res
		_, err := ParseReport(answers)
		require.NotNil(t, err, name)
		assert.True(t, err.IsOfType(tt.want), "%s: %v", name, err)
	}

	answers := sentinelAnswers()
	answers[5] = []byte("sentinel_tilt:1\r\n")
	r, err = ParseReport(answers)
	require.Nil(t, err)
	assert.True(t, r.tilt)
	answers[5] = redis.ErrResult.New("NOPERM no")
	r, err = ParseReport(answers)
	require.Nil(t, err, "INFO is not needed")
	assert.False(t, r.tilt)
}

func FuzzParseReport(f *testing.F) {
	f.Add("*2\r\n$2\r\nip\r\n$1\r\na\r\n", 1)
	f.Add("$-1\r\n", 0)
	f.Fuzz(func(t *testing.T, reply string, at int) {
		answers := sentinelAnswers()
		res, _ := redis.ReadResponse(bufio.NewReader(strings.NewReader(reply)))
		answers[uint(at)%uint(len(answers))] = res
		r, err := ParseReport(answers)
		if err == nil {
			assert.NotEmpty(t, r.master)
			assert.NotContains(t, r.replicas, r.master)
		}
	})
}
