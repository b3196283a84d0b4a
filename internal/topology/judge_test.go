package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	says := func(master string, epoch uint64, replicas ...string) Report {
		return Report{master: master, epoch: epoch, replicas: replicas}
	}
	now := time.Now()
	gone := func(r Report) Report { r.silentSince = now.Add(-supersededAfter); return r }
	left := func(r Report) Report { r.silentSince = now; return r }
	tilt := func(r Report) Report { r.tilt = true; return r }
	// knows is what one of a set of sentinels says, two of which have to agree.
	knows := func(r Report, others ...string) Report {
		r.quorum, r.Others = 2, others
		return r
	}
	type reports = map[string]Report
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
		assert.Equal(t, tt.master, l.Shards[0].Master, name)
		assert.Equal(t, tt.replicas, l.Shards[0].Replicas, name)
		assert.Equal(t, uint16(0), l.Slots[12345], name)
	}
}
