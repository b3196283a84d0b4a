package redis_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// groupJudge reads the log of TestGroupSoak. It contains the events of entries in the server's
// order, because the same script changes an entry and logs the event. A worker logs its own results
// later, so other events may come before them.
//
//	removed N              entries were deleted: those of removals[N]
//	acked ID WORKER OWNER  WORKER has acknowledged an entry that was pending for OWNER
//	taken ID WORKER        WORKER found an entry deleted and took it off the pending list
//	gone                   the group was destroyed
//	began, destroyed, stalled, killed WORKER
//	work, deleted ID WORKER, and failed ERROR
type groupJudge struct {
	removals [][]string
	faults   []string
	counts   map[string]int
	// stalled is set if a worker did not run for so long that another worker owned its entries when
	// it worked on them.
	stalled bool

	worked, reported, removed map[string]bool
	// acked has the entries that were acknowledged in the current group. done has those that were
	// acknowledged before they were deleted.
	acked, done map[string]bool
	// excused has workers that may work on an entry that another worker has acknowledged, because
	// they got the entry before.
	excused map[string]string
	// told has, by entry, the only worker that was told that the entry is deleted. lost has the
	// entries of killed workers.
	told map[string]string
	lost map[string]bool
	// begun has the running workers. old has those that may still work on entries of a destroyed
	// group.
	begun, old map[string]bool
}

func newGroupJudge(removals [][]string) *groupJudge {
	return &groupJudge{
		removals: removals, counts: map[string]int{},
		worked: map[string]bool{}, reported: map[string]bool{}, removed: map[string]bool{},
		acked: map[string]bool{}, done: map[string]bool{}, excused: map[string]string{},
		told: map[string]string{}, lost: map[string]bool{},
		begun: map[string]bool{}, old: map[string]bool{},
	}
}

func (j *groupJudge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// read reads the next line.
func (j *groupJudge) read(line string) {
	fields := append(strings.Fields(line), "", "", "", "")
	what, id, worker, owner := fields[0], fields[1], fields[2], fields[3]
	j.counts[what]++
	switch what {
	case "removed":
		n, _ := strconv.Atoi(id)
		for _, id := range j.removals[n] {
			j.removed[id] = true
			j.done[id] = j.acked[id]
		}
	case "gone":
		clear(j.acked)
		maps.Copy(j.old, j.begun)
	case "began":
		j.begun[id] = true
		delete(j.old, id)
	case "destroyed":
		delete(j.old, id)
	case "killed":
		for entry, worker := range j.told {
			j.lost[entry] = j.lost[entry] || worker == id
		}
	case "stalled":
		j.stalled = true
	case "work":
		if j.acked[id] && !j.old[worker] && j.excused[id] != worker && !j.stalled {
			j.fault("%s is worked on after it was acknowledged", id)
		}
		j.worked[id] = true
	case "acked":
		j.acked[id] = true
		j.told[id] = worker
		delete(j.excused, id)
		if owner != worker {
			j.excused[id] = owner
		}
	case "taken":
		j.told[id] = worker
	case "deleted":
		switch {
		case !j.removed[id]:
			j.fault("%s is reported and was not deleted", id)
		case j.done[id]:
			j.fault("%s is reported and was acknowledged before it was deleted", id)
		}
		j.reported[id] = true
	}
}

// end checks what happened to all added entries and to those in owed.
func (j *groupJudge) end(added, owed map[string]bool) {
	for id, there := range added {
		switch {
		case there && !j.worked[id]:
			j.fault("%s was never worked on", id)
		case !there && owed[id] && !j.worked[id] && !j.reported[id] && !j.lost[id]:
			j.fault("%s was pending, and is not reported", id)
		}
	}
}

func TestGroupJudge(t *testing.T) {
	const begun = "began a, began b, "
	for name, c := range map[string]struct {
		log         string
		there, owed bool
		faults      []string
	}{
		"worked on":                              {"work 1 a, acked 1 a a", true, false, nil},
		"by two, since it took long":             {"work 1 a, acked 1 a b, work 1 b", true, false, nil},
		"by one that was not given it":           {"work 1 a, acked 1 a a, work 1 b", true, false, []string{"1 is worked on after it was acknowledged"}},
		"acknowledged again":                     {"work 1 a, acked 1 a b, acked 1 b b, work 1 b", true, false, []string{"1 is worked on after it was acknowledged"}},
		"by one that stood still":                {"work 1 a, acked 1 a a, stalled b, work 1 b", true, false, nil},
		"again, in another group":                {"work 1 a, acked 1 a a, gone, destroyed b, work 1 b", true, false, nil},
		"of a group that is gone":                {"work 1 a, gone, destroyed a, work 1 a, acked 1 a a, work 1 b", true, false, nil},
		"when that is known":                     {"gone, destroyed a, destroyed b, work 1 a, acked 1 a a, work 1 b", true, false, []string{"1 is worked on after it was acknowledged"}},
		"never":                                  {"", true, false, []string{"1 was never worked on"}},
		"deleted before it was read":             {"removed 0", false, false, nil},
		"reported":                               {"removed 0, taken 1 b, deleted 1 b", false, true, nil},
		"reported beside the work on it":         {"work 1 a, removed 0, taken 1 b, acked 2 a a, deleted 1 b", false, true, nil},
		"acknowledged after it was deleted":      {"work 1 a, removed 0, acked 1 a a, deleted 1 b", false, true, nil},
		"acknowledged before it was deleted":     {"work 1 a, acked 1 a a, removed 0, deleted 1 b", false, false, []string{"1 is reported and was acknowledged before it was deleted"}},
		"reported and there":                     {"work 1 a, deleted 1 b", true, false, []string{"1 is reported and was not deleted"}},
		"not reported":                           {"removed 0", false, true, []string{"1 was pending, and is not reported"}},
		"not reported by one that is killed":     {"removed 0, taken 1 b, killed b", false, true, nil},
		"not reported by one that another knows": {"removed 0, taken 1 b, killed a", false, true, []string{"1 was pending, and is not reported"}},
	} {
		j := newGroupJudge([][]string{{"1"}})
		for line := range strings.SplitSeq(begun+c.log, ", ") {
			j.read(line)
		}
		j.end(map[string]bool{"1": c.there}, map[string]bool{"1": c.owed})
		assert.Equal(t, c.faults, j.faults, name)
	}
}
