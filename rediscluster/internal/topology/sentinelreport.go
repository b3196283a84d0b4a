package topology

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// Report is one sentinel's report about a master.
type Report struct {
	from string // the address of the sentinel
	// id is the sentinel's own ID. It is empty if the sentinel does not report it (before version 6.2).
	id     string
	master string
	// run is the run_id of the master, empty if it is not known.
	run string
	// epoch is the epoch of the master's election. The report with the greatest epoch wins; the
	// sentinels themselves use the same rule.
	epoch    uint64
	replicas []string // only those for which isOfUse is true
	// servers holds the addresses and the run_ids of the master and of all replicas.
	servers map[string]bool
	Others  []string // the addresses of the other sentinels that this one knows
	// ids maps the addresses in Others to IDs. alive holds the IDs of those sentinels that are not down.
	ids   map[string]string
	alive memory
	// quorum is the number of sentinels that must agree that a master is down.
	quorum int
	// tilt: the sentinel's clock has jumped, and it does not trust its own state.
	tilt bool
	// silentSince is the time when the sentinel stopped answering after this report; zero if it
	// answers.
	silentSince time.Time
	// err is the error of the sentinel's last failure to answer; nil if it answers.
	err *errorx.Error
}

// answers reports whether the sentinel answers.
func (r Report) answers() bool { return r.silentSince.IsZero() }

// same reports whether two reports name the same master. One may contain the master's hostname, and the
// other its IP.
func (r Report) same(other Report) bool {
	return r.master == other.master || r.run != "" && r.run == other.run
}

// SentinelQuestions returns the requests to a sentinel. They ask for the master's address before and
// after its epoch, because a sentinel that leads a failover first changes the epoch and later the
// address: the epoch belongs to the address only if both addresses are equal.
func SentinelQuestions(name string) []redis.Request {
	return []redis.Request{
		redis.Req("SENTINEL GET-MASTER-ADDR-BY-NAME", name),
		redis.Req("SENTINEL MASTER", name),
		redis.Req("SENTINEL GET-MASTER-ADDR-BY-NAME", name),
		redis.Req("SENTINEL REPLICAS", name),
		redis.Req("SENTINEL SENTINELS", name),
		redis.Req("INFO", "sentinel"),
		redis.Req("SENTINEL MYID"),
	}
}

// ErrMasterChanged: the address has changed between two answers, so ask again.
var ErrMasterChanged = ErrNoSentinel.New("the master has changed between two answers")

// ParseReport parses the answers to SentinelQuestions.
func ParseReport(answers []any) (r Report, failure *errorx.Error) {
	for _, res := range answers[:5] {
		if err := redis.AsErrorx(res); err != nil {
			return r, sentinelError(err)
		}
	}
	before, after := parseEndpoint(answers[0]), parseEndpoint(answers[2])
	switch {
	case answers[0] == nil:
		return r, ErrMasterUnknown.New("it knows no master of that name")
	case before == "":
		return r, ErrNoSentinel.New("it names a master without an address")
	case before != after:
		return r, ErrMasterChanged
	}
	master, _ := redis.As[sentinelFields](answers[1])
	epoch, err := strconv.ParseUint(master["config-epoch"], 10, 64)
	if err != nil {
		return r, ErrNoSentinel.New("its answer has no config-epoch")
	}
	r.master, r.run, r.epoch = before, master["runid"], epoch
	r.quorum, _ = strconv.Atoi(master["quorum"])
	r.servers = map[string]bool{r.master: true, r.run: true}
	for _, replica := range parseList(answers[3]) {
		addr := replica.addr()
		r.servers[addr], r.servers[replica["runid"]] = true, true
		if addr != "" && addr != r.master && replica.isOfUse() {
			r.replicas = append(r.replicas, addr)
		}
	}
	delete(r.servers, "")
	r.id, _ = redis.As[string](answers[6]) // versions before 6.2 answer with an error
	r.addOthers(parseList(answers[4]))
	info, _ := redisclusterutil.ParseInfo(answers[5]) // the client's user may have no right to INFO
	r.tilt = info["sentinel_tilt"] == "1"
	return r, nil
}

// addOthers records the sentinels that this one knows.
func (r *Report) addOthers(list []sentinelFields) {
	r.ids, r.alive = map[string]string{}, memory{}
	for _, other := range list {
		addr, id := other.addr(), other["runid"]
		if addr == "" {
			continue
		}
		r.Others = append(r.Others, addr)
		if id == "" {
			continue
		}
		if r.ids[addr] = id; other.isUp() {
			r.alive[id] = true
		}
	}
}

// sentinelError converts an error from a sentinel.
func sentinelError(err *errorx.Error) *errorx.Error {
	switch text := err.Message(); {
	case !err.IsOfType(redis.ErrResult):
		return err
	case strings.HasPrefix(text, "ERR No such master"):
		return ErrMasterUnknown.New("it knows no master of that name")
	case strings.HasPrefix(text, "ERR unknown command"):
		return ErrNotSentinel.New("the server is not a sentinel")
	}
	return ErrNoSentinel.Wrap(err, "it refuses to tell")
}

// sentinelFields are the fields that a sentinel reports about a server or another sentinel.
type sentinelFields map[string]string

// parseEndpoint returns the address in a reply that consists of a host and a port, or "" if it is invalid.
func parseEndpoint(res any) (addr string) {
	if pair, _ := redis.As[[]string](res); len(pair) == 2 {
		addr = sentinelFields{"ip": pair[0], "port": pair[1]}.addr()
	}
	return addr
}

// maxPeers bounds the replicas and sentinels in one answer: a hundred times more than anybody runs.
const maxPeers = 1 << 10

// parseList reads a list of servers. A malformed entry becomes a server without fields.
func parseList(res any) (list []sentinelFields) {
	entries, _ := res.([]any)
	for _, entry := range entries[:min(len(entries), maxPeers)] {
		fields, _ := redis.As[sentinelFields](entry)
		list = append(list, fields)
	}
	return list
}

// addr returns the address, or "" if it is not valid for dialing.
func (f sentinelFields) addr() string {
	if port, err := strconv.ParseUint(f["port"], 10, 16); err != nil || port == 0 || f["ip"] == "" || !redisurl.IsHost(f["ip"]) {
		return ""
	}
	return net.JoinHostPort(f["ip"], f["port"])
}

// isOfUse reports whether a replica is announced and the sentinel is connected to it. It ignores the
// state of the replication, which the client asks the replica for.
func (f sentinelFields) isOfUse() bool {
	return f["replica-announced"] != "0" && f.isUp()
}

// isUp reports whether the reporting sentinel is connected to the server, and does not consider it down.
func (f sentinelFields) isUp() bool {
	for flag := range strings.SplitSeq(f["flags"], ",") {
		switch flag {
		case "s_down", "o_down", "disconnected":
			return false
		}
	}
	return true
}
