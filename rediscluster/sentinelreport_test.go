package rediscluster

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// fields makes the answer of a sentinel about one server.
func fields(pairs ...string) []any {
	list := make([]any, len(pairs))
	for i, s := range pairs {
		list[i] = []byte(s)
	}
	return list
}

// sentinelAnswers are those of a sentinel that knows a master with three replicas, two
// of which are of use, and another sentinel.
func sentinelAnswers() []any {
	addr := fields("10.0.0.1", "6379")
	return []any{
		addr,
		fields("name", "main", "ip", "10.0.0.1", "port", "6379", "flags", "master", "config-epoch", "7", "quorum", "2"),
		addr,
		[]any{
			fields("ip", "10.0.0.2", "port", "6379", "flags", "slave", "master-link-status", "ok"),
			fields("ip", "::1", "port", "6380", "flags", "slave", "replica-announced", "1"),
			fields("ip", "10.0.0.4", "port", "6379", "flags", "s_down,slave,disconnected"),
			fields("ip", "10.0.0.5", "port", "6379", "flags", "slave", "replica-announced", "0"),
			fields("ip", "10.0.0.1", "port", "6379", "flags", "slave,promoted"),
			fields("ip", "10.0.0.6", "port", "0", "flags", "slave"),
		},
		[]any{fields("ip", "sentinel.example", "port", "26379", "flags", "sentinel"), fields("ip", "")},
		[]byte("# Sentinel\r\nsentinel_masters:1\r\nsentinel_tilt:0\r\n"),
	}
}

func TestParseSentinel(t *testing.T) {
	r, err := parseSentinel(sentinelAnswers())
	require.Nil(t, err)
	assert.Equal(t, sentinelReport{
		master: "10.0.0.1:6379", epoch: 7, quorum: 2,
		replicas: []string{"10.0.0.2:6379", "[::1]:6380"}, others: []string{"sentinel.example:26379"},
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
		"lost":                {0, redis.ErrIO.New("gone"), redis.ErrIO},
	} {
		answers := sentinelAnswers()
		answers[tt.at] = tt.res
		_, err := parseSentinel(answers)
		require.NotNil(t, err, name)
		assert.True(t, err.IsOfType(tt.want), "%s: %v", name, err)
	}

	answers := sentinelAnswers()
	answers[5] = []byte("sentinel_tilt:1\r\n")
	r, err = parseSentinel(answers)
	require.Nil(t, err)
	assert.True(t, r.tilt)
	answers[5] = redis.ErrResult.New("NOPERM no")
	r, err = parseSentinel(answers)
	require.Nil(t, err, "INFO is not needed")
	assert.False(t, r.tilt)
}

func TestJudge(t *testing.T) {
	says := func(master string, epoch uint64, replicas ...string) sentinelReport {
		return sentinelReport{master: master, epoch: epoch, replicas: replicas}
	}
	now := time.Now()
	gone := func(r sentinelReport) sentinelReport { r.gone = now.Add(-outlivedAfter); return r }
	left := func(r sentinelReport) sentinelReport { r.gone = now; return r }
	tilt := func(r sentinelReport) sentinelReport { r.tilt = true; return r }
	// knows is what one of a set of sentinels says, two of which have to agree.
	knows := func(r sentinelReport, others ...string) sentinelReport {
		r.quorum, r.others = 2, others
		return r
	}
	type reports = map[string]sentinelReport
	for name, tt := range map[string]struct {
		reports  reports
		present  string
		master   string // "" is none
		replicas []string
		dispute  bool
	}{
		"nobody":             {reports{}, "", "", nil, false},
		"all agree":          {reports{"a": says("m", 1, "r"), "b": says("m", 1, "s")}, "", "m", []string{"r", "s"}, false},
		"a greater epoch":    {reports{"a": says("m", 1, "r"), "b": says("r", 2, "m")}, "m", "r", []string{"m"}, false},
		"the old comes back": {reports{"a": says("m", 1), "b": gone(says("r", 2, "s")), "c": gone(says("r", 2))}, "r", "r", []string{"s"}, false},
		"all installed anew": {reports{"a": says("m", 0), "b": says("m", 0)}, "r", "m", nil, false},
		"of the living":      {reports{"a": gone(says("m", 1, "left")), "b": says("m", 1, "r")}, "m", "m", []string{"r"}, false},
		"tilt":               {reports{"a": tilt(says("r", 9)), "b": says("m", 1)}, "m", "m", nil, false},
		"tilt alone":         {reports{"a": tilt(says("r", 9))}, "", "", nil, false},
		"dispute at first":   {reports{"a": says("m", 1), "b": says("r", 1)}, "", "", nil, true},
		"dispute later":      {reports{"a": says("m", 1, "x"), "b": says("r", 1, "y")}, "r", "r", []string{"y"}, true},
		"one of three comes back": {
			reports{"a": knows(says("m", 1), "b", "c"), "b": gone(says("r", 2)), "c": gone(says("r", 2))}, "r", "r", nil, false,
		},
		"one installed anew": {reports{"a": knows(says("m", 0)), "b": gone(says("r", 2)), "c": gone(says("r", 2))}, "r", "r", nil, false},
		"two installed anew, that do not know each other": {
			reports{"a": knows(says("m", 0)), "b": knows(says("m", 0)), "c": gone(says("r", 2))}, "r", "r", nil, false,
		},
		"two of three installed anew": {
			reports{"a": knows(says("m", 0), "b", "d"), "b": knows(says("m", 0), "a", "d"), "c": gone(says("r", 2))}, "r", "m", nil, false,
		},
		"two of three, and the third has just left": {
			reports{"a": knows(says("m", 0), "b", "d"), "b": knows(says("m", 0), "a", "d"), "c": left(says("r", 2))}, "r", "r", nil, false,
		},
		"what only one knew that died": {
			reports{"a": knows(says("m", 1), "b", "c"), "b": knows(says("m", 1), "a", "c"), "c": gone(says("r", 2))}, "r", "m", nil, false,
		},
		"two of five installed anew": {
			reports{"a": knows(says("m", 0), "b", "d", "e"), "b": knows(says("m", 0), "a", "d", "e"), "c": gone(says("r", 2))}, "r", "r", nil, false,
		},
		"a live one has more": {
			reports{"a": knows(says("m", 0), "b"), "b": knows(says("m", 0), "a"), "c": says("r", 2)}, "r", "r", nil, false,
		},
		"another address": {reports{"a": says("moved", 1), "b": says("moved", 1)}, "m", "moved", nil, false},
	} {
		for addr, r := range tt.reports {
			r.from = addr
			tt.reports[addr] = r
		}
		l, dispute := judge(tt.reports, tt.present, now)
		assert.Equal(t, tt.dispute, dispute != nil, name)
		if tt.master == "" {
			assert.Nil(t, l, name)
			continue
		}
		require.NotNil(t, l, name)
		assert.Equal(t, tt.master, l.shards[0].master, name)
		assert.Equal(t, tt.replicas, l.shards[0].replicas, name)
		assert.Equal(t, uint16(0), l.slots[12345], name)
	}
}

func FuzzParseSentinel(f *testing.F) {
	f.Add("*2\r\n$2\r\nip\r\n$1\r\na\r\n", 1)
	f.Add("$-1\r\n", 0)
	f.Fuzz(func(t *testing.T, reply string, at int) {
		answers := sentinelAnswers()
		res, _ := redis.ReadResponse(bufio.NewReader(strings.NewReader(reply)))
		answers[uint(at)%uint(len(answers))] = res
		r, err := parseSentinel(answers)
		if err == nil {
			assert.NotEmpty(t, r.master)
			assert.NotContains(t, r.replicas, r.master)
		}
	})
}
