package rediscluster

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// sentinelReport is what one sentinel says of a master.
type sentinelReport struct {
	from   string // the sentinel
	master string
	// epoch is that of the election by which the master is one: the greater counts,
	// as it does among the sentinels themselves.
	epoch    uint64
	replicas []string // without those that are of no use
	others   []string // sentinels
	// quorum is how many sentinels have to agree that a master is down.
	quorum int
	// tilt: the sentinel's clock has jumped, and it does not trust itself.
	tilt bool
	// gone is since when the sentinel does not answer. This is what it said last then.
	gone time.Time
}

// answers reports whether the sentinel is not gone.
func (r sentinelReport) answers() bool { return r.gone.IsZero() }

// sentinelQuestions are what a sentinel is asked. While it leads a failover, it tells
// the new master's address once that is one, and has raised the epoch before; so of
// the same address before and after the epoch, both belong together.
func sentinelQuestions(name string) []redis.Request {
	return []redis.Request{
		redis.Req("SENTINEL GET-MASTER-ADDR-BY-NAME", name),
		redis.Req("SENTINEL MASTER", name),
		redis.Req("SENTINEL GET-MASTER-ADDR-BY-NAME", name),
		redis.Req("SENTINEL REPLICAS", name),
		redis.Req("SENTINEL SENTINELS", name),
		redis.Req("INFO", "sentinel"),
	}
}

// errTornAnswer: a failover has come between two answers, so ask again.
var errTornAnswer = ErrNoSentinel.New("the master has changed between two answers")

// parseSentinel takes the answers to sentinelQuestions apart.
func parseSentinel(answers []any) (r sentinelReport, failure *errorx.Error) {
	for _, res := range answers[:5] {
		if err := redis.AsErrorx(res); err != nil {
			return r, sentinelError(err)
		}
	}
	before, known := parseEndpoint(answers[0])
	after, _ := parseEndpoint(answers[2])
	switch {
	case answers[0] == nil:
		return r, ErrMasterUnknown.New("it knows no master of that name")
	case !known:
		return r, ErrNoSentinel.New("it names a master without an address")
	case before != after:
		return r, errTornAnswer
	}
	master := parsePairs(answers[1])
	epoch, err := strconv.ParseUint(master["config-epoch"], 10, 64)
	if err != nil {
		return r, ErrNoSentinel.New("its answer has no config-epoch")
	}
	r.master, r.epoch = before, epoch
	r.quorum, _ = strconv.Atoi(master["quorum"])
	for _, replica := range parseList(answers[3]) {
		if addr := replica.addr(); addr != "" && addr != r.master && replica.isOfUse() {
			r.replicas = append(r.replicas, addr)
		}
	}
	for _, other := range parseList(answers[4]) {
		if addr := other.addr(); addr != "" {
			r.others = append(r.others, addr)
		}
	}
	info, _ := redisclusterutil.ParseInfo(answers[5]) // a user may have no right to INFO
	r.tilt = info["sentinel_tilt"] == "1"
	return r, nil
}

// sentinelError is what an error means that a sentinel has answered with.
func sentinelError(err *errorx.Error) *errorx.Error {
	switch text := err.Message(); {
	case !err.IsOfType(redis.ErrResult):
		return err
	case strings.HasPrefix(text, "ERR No such master"):
		return ErrMasterUnknown.New("it knows no master of that name")
	case strings.HasPrefix(text, "ERR unknown command"):
		return ErrNotSentinel.New("it is not a sentinel")
	}
	return ErrNoSentinel.Wrap(err, "it refuses to tell")
}

// parseEndpoint reads a host and a port.
func parseEndpoint(res any) (addr string, ok bool) {
	list, _ := res.([]any)
	if len(list) != 2 {
		return "", false
	}
	host, isHost := redis.ArgToString(list[0])
	port, isPort := redis.ArgToString(list[1])
	addr = sentinelFields{"ip": host, "port": port}.addr()
	return addr, isHost && isPort && addr != ""
}

// sentinelFields are what a sentinel tells of a server.
type sentinelFields map[string]string

// maxPeers bounds how many replicas and sentinels are taken from one answer: a
// hundred times what anybody runs.
const maxPeers = 1 << 10

func parseList(res any) (list []sentinelFields) {
	entries, _ := res.([]any)
	for _, entry := range entries[:min(len(entries), maxPeers)] {
		list = append(list, parsePairs(entry))
	}
	return list
}

// parsePairs reads names and values in turn; with RESP3 it is a map.
func parsePairs(res any) sentinelFields {
	fields := make(sentinelFields)
	set := func(name, value any) {
		n, ok := redis.ArgToString(name)
		v, ok2 := redis.ArgToString(value)
		if ok && ok2 {
			fields[n] = v
		}
	}
	switch pairs := res.(type) {
	case []any:
		for i := 0; i+1 < len(pairs); i += 2 {
			set(pairs[i], pairs[i+1])
		}
	case map[string]any:
		for name, value := range pairs {
			set(name, value)
		}
	}
	return fields
}

// addr is the address, empty if there is none that can be dialed.
func (f sentinelFields) addr() string {
	if port, err := strconv.ParseUint(f["port"], 10, 16); err != nil || port == 0 || f["ip"] == "" {
		return ""
	}
	return net.JoinHostPort(f["ip"], f["port"])
}

// isOfUse reports whether a replica is announced, and the sentinel is connected to it.
// How its replication goes it says itself.
func (f sentinelFields) isOfUse() bool {
	if f["replica-announced"] == "0" {
		return false
	}
	for flag := range strings.SplitSeq(f["flags"], ",") {
		switch flag {
		case "s_down", "o_down", "disconnected":
			return false
		}
	}
	return true
}

// outlivedAfter is for how long what a sentinel said counts, though it is gone and a
// majority says something else. Sentinels tell each other of an epoch every 2 s.
const outlivedAfter = 10 * time.Second

// outlived reports whether what a sentinel that is gone said last counts no more. So
// sentinels may be installed anew, which begin with epoch 0, and a new master may come to
// nothing that only a sentinel knew of which died. One that is installed by itself, and
// knows nobody yet, is no majority where the quorum is 2 or more.
func (r sentinelReport) outlived(reports map[string]sentinelReport, now time.Time) bool {
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
func (r sentinelReport) hasMajority(reports map[string]sentinelReport) bool {
	agree := 1
	for _, addr := range r.others {
		if other := reports[addr]; other.answers() && !other.tilt && other.master == r.master && other.epoch == r.epoch {
			agree++
		}
	}
	return r.quorum > 0 && agree >= r.quorum && 2*agree > len(r.others)+1
}

// judge says what holds of what all sentinels said last, those that are gone included
// until they are outlived: the master of the greatest epoch, so that one who comes back
// with old news never moves the client back. Of two masters with one epoch the present one
// stays while anybody names it. It returns nil if no sentinel names any.
func judge(reports map[string]sentinelReport, present string, now time.Time) (*layout, *errorx.Error) {
	var best []sentinelReport
	for _, addr := range slices.Sorted(maps.Keys(reports)) {
		r := reports[addr]
		switch {
		case r.tilt || r.master == "" || r.outlived(reports, now):
		case len(best) == 0 || r.epoch > best[0].epoch:
			best = []sentinelReport{r}
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
	return groupLayout(master, replicasOf(master, best)), dispute
}

// replicasOf merges the replicas of those who name the master; who is gone counts only
// if nobody else does.
func replicasOf(master string, reports []sentinelReport) (replicas []string) {
	slices.SortStableFunc(reports, func(a, b sentinelReport) int { return cmp.Compare(boolToInt(b.answers()), boolToInt(a.answers())) })
	for i, r := range reports {
		if !r.answers() && i > 0 {
			break
		}
		for _, addr := range r.replicas {
			if r.master == master && !slices.Contains(replicas, addr) {
				replicas = append(replicas, addr)
			}
		}
	}
	slices.Sort(replicas)
	return replicas
}
