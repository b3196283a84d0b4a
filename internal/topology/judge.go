package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"
)

// outlivedAfter is for how long what a sentinel said counts, though it is gone and a
// majority says something else. Sentinels tell each other of an epoch every 2 s.
const outlivedAfter = 10 * time.Second

// outlived reports whether what a sentinel that is gone said last counts no more. So
// sentinels may be installed anew, which begin with epoch 0, and a new master may come to
// nothing that only a sentinel knew of which died. One that is installed by itself, and
// knows nobody yet, is no majority where the quorum is 2 or more.
func (r Report) outlived(reports map[string]Report, now time.Time) bool {
	if r.answers() || now.Sub(r.gone) < outlivedAfter {
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

// judge says what holds of what all sentinels said last, those that are gone included
// until they are outlived: the master of the greatest epoch, so that one who comes back
// with old news never moves the client back. Of two masters with one epoch the present one
// stays while anybody names it. It returns nil if no sentinel names any.
func judge(reports map[string]Report, present string, now time.Time) (*Layout, *errorx.Error) {
	var best []Report
	for _, addr := range slices.Sorted(maps.Keys(reports)) {
		r := reports[addr]
		switch {
		case r.tilt || r.master == "" || r.outlived(reports, now):
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

// replicasOf merges the replicas of those who name the master; who is gone counts only
// if nobody else does.
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
