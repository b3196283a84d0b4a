package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"
)

// supersededAfter is how long the last report of a sentinel that does not answer counts
// against a majority that says something else. Sentinels tell each other of an epoch every 2 s.
const supersededAfter = 10 * time.Second

// superseded reports whether r, the last report of a sentinel that does not answer, no longer
// counts, since a majority has reported something else for long enough. Without this rule,
// newly installed sentinels, which begin with epoch 0, would never count, and neither would a
// majority that does not know an epoch which only the lost sentinel knew. Where the quorum is
// 2 or more, a single new sentinel that knows no other is no majority.
func (r Report) superseded(reports map[string]Report, now time.Time) bool {
	if r.answers() || now.Sub(r.silentSince) < supersededAfter {
		return false
	}
	for _, other := range reports {
		if other.answers() && !other.tilt && other.hasMajority(reports) {
			return true
		}
	}
	return false
}

// hasMajority reports whether most of the sentinels that this one knows, and as many as
// its quorum, say the same now.
func (r Report) hasMajority(reports map[string]Report) bool {
	agree := 1
	for _, addr := range r.Others {
		if other := reports[addr]; other.answers() && !other.tilt && other.master == r.master && other.epoch == r.epoch {
			agree++
		}
	}
	return r.quorum > 0 && agree >= r.quorum && 2*agree > len(r.Others)+1
}

// judge makes a layout of the last reports of all sentinels, until they are superseded: the
// master is the one with the greatest epoch, so that a sentinel that comes back with an old
// report never moves the client back. Of two masters with the same epoch the present one stays
// as long as a sentinel names it. It returns nil if no sentinel names a master.
func judge(reports map[string]Report, present string, now time.Time) (*Layout, *errorx.Error) {
	var best []Report
	for _, addr := range slices.Sorted(maps.Keys(reports)) {
		r := reports[addr]
		switch {
		case r.tilt || r.master == "" || r.superseded(reports, now):
		case len(best) == 0 || r.epoch > best[0].epoch:
			best = []Report{r}
		case r.epoch == best[0].epoch:
			best = append(best, r)
		}
	}
	if len(best) == 0 {
		return nil, nil
	}
	named := make(map[string][]string) // sentinels by the master that they name
	for _, r := range best {
		named[r.master] = append(named[r.master], r.from)
	}
	master := best[0].master
	var dispute *errorx.Error
	if len(named) > 1 {
		var said []string
		for _, m := range slices.Sorted(maps.Keys(named)) {
			said = append(said, fmt.Sprintf("%s by %s", m, strings.Join(named[m], ", ")))
		}
		dispute = ErrSentinelsDisagree.New("several are named as the master of epoch %d: %s", best[0].epoch, strings.Join(said, "; "))
		if named[present] == nil {
			return nil, dispute
		}
		master = present
	}
	return group(master, replicasOf(master, best)), dispute
}

// replicasOf merges the replicas that the sentinels report, by those that answer. If none
// does, the first report counts.
func replicasOf(master string, reports []Report) (replicas []string) {
	heard := slices.DeleteFunc(slices.Clone(reports), func(r Report) bool { return !r.answers() })
	if len(heard) == 0 {
		heard = reports[:1]
	}
	for _, r := range heard {
		for _, addr := range r.replicas {
			if r.master == master && !slices.Contains(replicas, addr) {
				replicas = append(replicas, addr)
			}
		}
	}
	slices.Sort(replicas)
	return replicas
}
