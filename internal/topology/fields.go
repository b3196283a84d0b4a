package topology

import (
	"net"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// sentinelFields are what a sentinel tells of a server.
type sentinelFields map[string]string

// parseEndpoint returns the address of a host and a port, empty if they are none.
func parseEndpoint(res any) (addr string) {
	if pair, _ := redis.As[[]string](res); len(pair) == 2 {
		addr = sentinelFields{"ip": pair[0], "port": pair[1]}.addr()
	}
	return addr
}

// maxPeers bounds how many replicas and sentinels are taken from one answer: a
// hundred times what anybody runs.
const maxPeers = 1 << 10

// parseList reads a list of servers. One that is malformed has no fields.
func parseList(res any) (list []sentinelFields) {
	entries, _ := res.([]any)
	for _, entry := range entries[:min(len(entries), maxPeers)] {
		fields, _ := redis.As[sentinelFields](entry)
		list = append(list, fields)
	}
	return list
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
