package topology

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watcher returns the report of a sentinel whose ID is the first of ids. The sentinel knows those with the
// other IDs, which are also their addresses, and names a master with a replica.
func watcher(ids, master string, epoch uint64) Report {
	all := strings.Split(ids, " ")
	r := Report{
		id: all[0], master: master, run: "run of " + master, epoch: epoch, quorum: len(all)/2 + 1,
		replicas: []string{"r"}, servers: map[string]bool{master: true, "run of " + master: true, "r": true, "run of r": true},
		ids: map[string]string{}, alive: memory{},
	}
	for _, id := range all[1:] {
		r.Others = append(r.Others, id)
		r.ids[id], r.alive[id] = id, true
	}
	return r
}

// An unknown sentinel at the address of a known one does not move the client, no matter what its
// epoch is.
func TestStrangersAmongSentinels(t *testing.T) {
	stranger := watcher("x", "other", 100)
	now := time.Now()
	for name, seeds := range map[string][]string{"one seed": {"a"}, "all": {"a", "b", "c"}, "the stranger's address": {"c"}} {
		s := NewReports(seeds, false)
		for _, ids := range []string{"c a b", "b a c", "a b c"} {
			s.Hear(ids[:1], watcher(ids, "m", 1), nil, now)
			s.Judge(now)
		}
		require.True(t, s.Settled(), name)
		s.Hear("c", stranger, nil, now)
		v := s.Judge(now)
		assert.False(t, v.Changed, name)
		assert.Equal(t, []string{"c"}, v.Strangers, name)
		assert.Empty(t, s.Judge(now).Strangers, "it is said once")
		assert.NotContains(t, s.Others(), "y", name)

		gone := ErrNoSentinel.New("gone")
		s.Hear("a", Report{}, gone, now)
		s.Hear("b", Report{}, gone, now)
		s.Judge(now)
		assert.Equal(t, "m", s.Layout().Shards[0].Master, "what the others said last counts")

		// The first sentinel that reports a failover counts.
		s.Hear("b", watcher("b a c", "r", 2), nil, now)
		assert.True(t, s.Judge(now).Changed, name)
		assert.Equal(t, "r", s.Layout().Shards[0].Master, name)
		s.Hear("c", watcher("c b a", "fresh", 3), nil, now)
		assert.True(t, s.Judge(now).Changed, "one that was never heard of")
	}
}

// Before any sentinel is known, the group counts in which the most sentinels answer and know each
// other. The order of their answers does not matter.
func TestStrangersAmongSentinelsAtFirst(t *testing.T) {
	heard := map[string]Report{"a": watcher("a b c", "m", 1), "b": watcher("b a c", "m", 1), "c": watcher("x", "other", 100)}
	now := time.Now()
	for _, order := range []string{"abc", "acb", "cab", "cba", "bca", "bac"} {
		s := NewReports([]string{"c", "b", "a"}, false)
		for _, addr := range strings.Split(order, "") {
			s.Hear(addr, heard[addr], nil, now)
			v := s.Judge(now)
			assert.Empty(t, v.Left, order)
		}
		assert.Equal(t, "m", s.Layout().Shards[0].Master, order)
		assert.True(t, s.Settled(), order)
	}
}

// If no known sentinel is left, the client follows others and reports that, unless it must refuse
// strangers. Sentinels that name a server that the client knows are not strangers.
func TestOnlyStrangersAreLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		refuse bool
		master string
		want   string
		left   []string
	}{
		"followed":           {false, "other", "other", []string{"other"}},
		"refused":            {true, "other", "m", nil},
		"a known replica":    {true, "r", "r", nil},
		"the present master": {true, "m", "m", nil},
	} {
		s, now := NewReports([]string{"a"}, tt.refuse), time.Now()
		s.Hear("a", watcher("a b", "m", 5), nil, now)
		s.Hear("b", watcher("b a", "m", 5), nil, now)
		s.Judge(now)
		gone := ErrNoSentinel.New("gone")
		s.Hear("a", Report{}, gone, now)
		s.Hear("b", watcher("x", tt.master, 0), nil, now)
		assert.Empty(t, s.Judge(now).Left, name)
		assert.Equal(t, "m", s.Layout().Shards[0].Master, name)
		now = now.Add(supersededAfter)
		assert.Equal(t, tt.left, s.Judge(now).Left, name)
		assert.Equal(t, tt.want, s.Layout().Shards[0].Master, name)
		assert.Empty(t, s.Judge(now).Left, name)
	}
}

// Sentinels that do not report their own IDs are identified by the IDs that other sentinels give
// them. Without any IDs, all sentinels count.
func TestSentinelsWithoutIDs(t *testing.T) {
	now := time.Now()
	s := NewReports([]string{"a", "b", "c"}, false)
	for _, ids := range []string{"a b c", "b a c"} {
		r := watcher(ids, "m", 1)
		r.id = ""
		s.Hear(ids[:1], r, nil, now)
	}
	s.Hear("c", watcher("x", "other", 100), nil, now)
	s.Judge(now)
	assert.Equal(t, "m", s.Layout().Shards[0].Master)

	s = NewReports([]string{"a", "b"}, false)
	s.Hear("a", Report{master: "m", epoch: 1}, nil, now)
	s.Hear("b", Report{master: "r", epoch: 2}, nil, now)
	s.Judge(now)
	assert.Equal(t, "r", s.Layout().Shards[0].Master)
}

// If groups of sentinels do not know each other and are otherwise equal, the greatest epoch counts;
// with equal epochs they disagree.
func TestEvenSentinels(t *testing.T) {
	for epoch, want := range map[uint64]string{1: "", 2: "other"} {
		s, now := NewReports([]string{"a", "b"}, false), time.Now()
		s.Hear("a", watcher("a", "m", 1), nil, now)
		s.Hear("b", watcher("b", "other", epoch), nil, now)
		v := s.Judge(now)
		assert.Equal(t, want == "", v.Dispute != nil)
		assert.Equal(t, want, strings.Join(mastersOf(s.Layout()), " "))
		assert.Empty(t, s.Judge(now).Left)
		assert.Equal(t, want, strings.Join(mastersOf(s.Layout()), " "))
	}
}

// Behind a proxy, one address leads to different sentinels in turn, and to one that is cut off from the
// others.
func TestSentinelsBehindOneAddress(t *testing.T) {
	s, now := NewReports([]string{"proxy"}, false), time.Now()
	say := func(ids, master string, epoch uint64) {
		s.Hear("proxy", watcher(ids, master, epoch), nil, now)
		s.Judge(now)
		now = now.Add(time.Second)
	}
	master := func() string { return s.Layout().Shards[0].Master }
	say("a b c", "old", 1)
	say("b c a", "new", 2)
	say("c a b", "old", 1)
	require.Equal(t, "new", master())
	for range int(supersededAfter / time.Second) {
		say("c a b", "old", 1)
	}
	require.Equal(t, "old", master(), "nobody else answers")
	say("b c a", "new", 2)
	require.Equal(t, "new", master())
}
