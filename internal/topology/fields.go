package topology

import (
	"net"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// sentinelFields are what a sentinel tells of a server.
type sentinelFields map[string]string

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
