package redisclusterutil

import (
	"sort"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// The number of nodes is bounded, because a client connects to all nodes of a cluster and compares them
// with each other.
const (
	// nodesMost is four times the greatest number that the cluster specification considers possible.
	nodesMost = 1 << 12
	// serversMost bounds the nodes of one range: a hundred times more than anybody runs.
	serversMost = 1 << 10
)

// SlotsRange is a range of slots and the nodes that serve it.
type SlotsRange struct {
	// From and To are the first and the last slot, both included.
	From int
	To   int
	// Addrs are the nodes as host:port, the master first. The host is empty
	// if the answering node did not name it: use the host that you asked.
	Addrs []string
	// AddrHostnames maps an address of Addrs to its hostname, as host:port, if the
	// server's metadata has one. It is nil if there is none.
	AddrHostnames map[string]string
	// AddrZones maps an address of Addrs to its availability zone, if the server's
	// metadata has one (Valkey from version 9.1 on). It is nil if there
	// is none.
	AddrZones map[string]string
}

// ParseSlotsInfo parses the answer to CLUSTER SLOTS, and sorts the ranges.
//
// It leaves out nodes with an unknown address: the host is "?" or an empty array,
// the port is 0, or the node is an empty array. A range may then have no node. If its master is
// left out, the first of Addrs is a replica.
//
// The error is an [redis.ErrResponseUnexpected] if a host is invalid, if there are more than
// 4096 nodes, or more than 1024 in one range, or if the answer is malformed in any other way.
func ParseSlotsInfo(res any) ([]SlotsRange, error) {
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	rows, ok := res.([]any)
	switch {
	case !ok:
		return nil, unexpected("CLUSTER SLOTS", "not an array", res)
	case len(rows) > NumSlots:
		return nil, unexpected("CLUSTER SLOTS", "more ranges than slots", res)
	}
	ranges := make([]SlotsRange, 0, len(rows))
	nodes := map[string]struct{}{}
	for _, row := range rows {
		r, why := parseSlotsRow(row)
		for _, addr := range r.Addrs {
			nodes[addr] = struct{}{}
		}
		if len(nodes) > nodesMost {
			why = "too many nodes"
		}
		if why != "" {
			return nil, unexpected("CLUSTER SLOTS", why, res)
		}
		ranges = append(ranges, r)
	}
	sortRanges(ranges)
	return ranges, nil
}

func sortRanges(ranges []SlotsRange) {
	sort.SliceStable(ranges, func(i, j int) bool { return ranges[i].From < ranges[j].From })
}

// parseSlotsRow parses a row. If the row is invalid, why is the reason; otherwise why is empty.
func parseSlotsRow(row any) (r SlotsRange, why string) {
	cells, ok := row.([]any)
	if !ok || len(cells) < 2 {
		return r, "a range is not an array of two or more"
	}
	from, fromOk := cells[0].(int64)
	to, toOk := cells[1].(int64)
	if !fromOk || !toOk || from < 0 || to < from || to >= NumSlots {
		return r, "a range has no valid bounds"
	}
	if len(cells)-2 > serversMost {
		return r, "a range of too many nodes"
	}
	r.From, r.To = int(from), int(to)
	for _, cell := range cells[2:] {
		if !r.addNode(cell) {
			return r, "a node is not an array of host and port"
		}
	}
	return r, ""
}

// setText sets a value in a map, unless the value is empty. It creates the map if necessary.
func setText(m *map[string]string, key, value string) {
	if value == "" {
		return
	}
	if *m == nil {
		*m = make(map[string]string)
	}
	(*m)[key] = value
}

// addNode adds a node, unless its address is unknown. It reports whether the cell is a valid node.
func (r *SlotsRange) addNode(cell any) (ok bool) {
	node, isArray := cell.([]any)
	if isArray && len(node) == 0 {
		return true
	}
	if !isArray || len(node) < 2 {
		return false
	}
	port, isInt := node[1].(int64)
	if !isInt || port < 0 || port > 65535 {
		return false
	}
	host, known := "", true
	if none, isArray := node[0].([]any); isArray && len(none) == 0 {
		known = false
	} else if node[0] != nil {
		if host, ok = resp.TextOf(node[0]); !ok {
			return false
		}
		known = host != "?"
	}
	var meta metadata
	if len(node) > 3 {
		var err error
		if meta, err = redis.As[metadata](node[3]); err != nil || meta == nil {
			return false
		}
		if !known {
			host, known = meta.text("ip"), meta.text("ip") != ""
		}
	}
	if known && !redisurl.IsHost(host) {
		return false
	}
	if !known || port == 0 {
		return true
	}
	addr := joinHostPort(host, int(port))
	r.Addrs = append(r.Addrs, addr)
	setText(&r.AddrZones, addr, meta.text("availability-zone"))
	if hostname := meta.text("hostname"); hostname != "" && redisurl.IsHost(hostname) {
		setText(&r.AddrHostnames, addr, joinHostPort(hostname, int(port)))
	}
	return true
}

// unexpected returns the error of an answer to cmd with an unexpected shape.
func unexpected(cmd, why string, res any) error {
	return redis.ErrResponseUnexpected.New("%s: %s", cmd, why).WithProperty(redis.EKResponse, res)
}

// metadata holds a node's further addresses and its zone, by their names in the reply.
type metadata map[string]any

// text returns a value if it is a string, and otherwise "".
func (m metadata) text(name string) string {
	text, _ := resp.TextOf(m[name])
	return text
}
