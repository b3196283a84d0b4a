package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// If a sentinel of the user's list never comes back, and the others were reinstalled and agree, the client
// follows the others.
func TestSentinelsInstalledAnew(t *testing.T) {
	s, now := NewReports(nil, false), time.Now()
	say := func(addr, master string, epoch uint64, others ...string) {
		require.False(t, s.Hear(addr, Report{master: master, epoch: epoch, Others: others, quorum: 2}, nil, now))
		s.Judge(now)
	}
	fail := func(addr string) {
		s.Hear(addr, Report{}, ErrNoSentinel.New("gone"), now)
		s.Judge(now)
	}
	master := func() string { return s.Layout().Shards[0].Master }
	say("a", "r", 7, "b", "c")
	say("b", "r", 7, "a", "c")
	say("c", "r", 7, "a", "b")
	for _, addr := range []string{"a", "b", "c"} {
		fail(addr)
	}
	now = now.Add(time.Hour)
	require.Equal(t, "r", master())
	say("b", "m", 0)
	require.Equal(t, "r", master(), "it may be the only one that knows nothing")
	say("c", "m", 0, "b")
	require.Equal(t, "m", master())
	say("b", "m", 0, "c")

	say("a", "r", 7)
	require.Equal(t, "r", master(), "who answers counts")
	fail("a")
	now = now.Add(supersededAfter - 1)
	say("b", "m", 0, "c")
	require.Equal(t, "r", master())
	require.Empty(t, s.Forget(now), "its last word counts")
	now = now.Add(time.Nanosecond)
	say("b", "m", 0, "c")
	require.Equal(t, "m", master())
	s.seeds = []string{"a"}
	require.Empty(t, s.Forget(now))
	s.seeds = nil
	require.Equal(t, []string{"a"}, s.Forget(now))
	require.Empty(t, s.Forget(now))
}

func TestReportsTellWhatIsNew(t *testing.T) {
	s, now := NewReports(nil, false), time.Now()
	says := func(master string) Report { return Report{master: master, epoch: 1} }
	down := redisconn.ErrDial.New("down")
	assert.True(t, s.Hear("a", Report{}, down, now))
	assert.False(t, s.Hear("a", Report{}, down, now), "it failed before")
	v := s.Judge(now)
	assert.False(t, v.Changed)
	assert.Nil(t, v.Dispute)
	assert.Nil(t, s.Layout())

	s.Hear("a", says("m"), nil, now)
	assert.True(t, s.Judge(now).Changed)
	assert.False(t, s.Judge(now).Changed)
	assert.True(t, s.Hear("a", Report{}, down, now), "it has answered meanwhile")

	s.Hear("b", says("r"), nil, now)
	v = s.Judge(now)
	assert.False(t, v.Changed)
	require.NotNil(t, v.Dispute)
	assert.True(t, v.Dispute.IsOfType(ErrSentinelsDisagree))
	assert.Nil(t, s.Judge(now).Dispute, "it is the same one")
	assert.NotNil(t, s.dispute)

	tilt := says("r")
	tilt.tilt = true
	s.Hear("b", says("m"), nil, now)
	s.Hear("b", tilt, nil, now)
	s.Judge(now)
	assert.Nil(t, s.dispute, "what it said before counts")
}

func TestWhyThereIsNoMaster(t *testing.T) {
	auth, down := redisconn.ErrAuth.New("no"), redisconn.ErrDial.New("down")
	unknown, plain := ErrMasterUnknown.New("unknown"), ErrNotSentinel.New("plain")
	for name, tt := range map[string]struct {
		failures []error
		tilt     bool
		want     error
		final    bool
	}{
		"nobody":                {nil, false, ErrNoSentinel.New(""), false},
		"all refuse":            {[]error{auth, auth}, false, auth, true},
		"one is down":           {[]error{auth, down}, false, ErrNoSentinel.New(""), false},
		"one is in TILT mode":   {[]error{plain}, true, ErrNoSentinel.New(""), false},
		"none is a sentinel":    {[]error{plain}, false, plain, true},
		"one knows no such one": {[]error{down, unknown}, false, unknown, false},
	} {
		s, now := NewReports(nil, false), time.Now()
		for i, err := range tt.failures {
			s.Hear(string(rune('a'+i)), Report{}, redis.AsErrorx(err), now)
		}
		if tt.tilt {
			s.Hear("tilt", Report{tilt: true}, nil, now)
		}
		s.Judge(now)
		err, final := s.Failure("main")
		assert.Equal(t, tt.final, final, name)
		assert.Same(t, redis.AsErrorx(tt.want).Type(), err.Type(), "%s: %v", name, err)
	}
	s, now := NewReports(nil, false), time.Now()
	s.Hear("a", Report{master: "m", epoch: 1}, nil, now)
	s.Hear("b", Report{master: "r", epoch: 1}, nil, now)
	s.Judge(now)
	err, final := s.Failure("main")
	assert.False(t, final)
	assert.True(t, err.IsOfType(ErrSentinelsDisagree))
}

func TestJudge(t *testing.T) {
	says := func(master string, epoch uint64, replicas ...string) Report {
		return Report{master: master, epoch: epoch, replicas: replicas}
	}
	now := time.Now()
	gone := func(r Report) Report { r.silentSince = now.Add(-supersededAfter); return r }
	left := func(r Report) Report { r.silentSince = now; return r }
	tilt := func(r Report) Report { r.tilt = true; return r }
	// knows returns the report of a sentinel that knows others, with a quorum of two.
	knows := func(r Report, others ...string) Report {
		r.quorum, r.Others = 2, others
		return r
	}
	run := func(r Report, id string) Report { r.run = id; return r }
	type reports = map[string]Report
	for name, tt := range map[string]struct {
		reports  reports
		present  string
		master   string // "" means none
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
		"by its IP, and by its hostname": {
			reports{"a": run(says("ip", 1, "x"), "1"), "b": run(says("host", 1, "y"), "1")}, "", "ip", []string{"x"}, false,
		},
		"by its hostname, as before": {
			reports{"a": run(says("ip", 1, "x"), "1"), "b": run(says("host", 1, "y"), "1")}, "host", "host", []string{"y"}, false,
		},
		"dispute of servers that told their runs": {reports{"a": run(says("m", 1), "1"), "b": run(says("r", 1), "2")}, "", "", nil, true},
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
		s := NewReports(nil, false)
		s.last = tt.reports
		chosen, _ := s.choose(now)
		l, dispute := judge(chosen, tt.present)
		assert.Equal(t, tt.dispute, dispute != nil, name)
		if tt.master == "" {
			assert.Nil(t, l, name)
			continue
		}
		require.NotNil(t, l, name)
		assert.Equal(t, tt.master, l.Shards[0].Master, name)
		assert.Equal(t, tt.replicas, l.Shards[0].Replicas, name)
		assert.Equal(t, uint16(0), l.Slots[12345], name)
	}
}
