package redisclusterutil

import (
	"sort"

	"github.com/joomcode/redispipe/redis"
)

// SlotsRange is a range of slots and the nodes that serve it.
type SlotsRange struct {
	// From and To are the first and the last slot, both included.
	From int
	To   int
	// Addrs are the nodes as host:port, the master first. The host is empty
	// where the answering node did not name it: it is the host that was asked.
	Addrs []string
	// AddrHostnames holds, as host:port, the hostname of an address of Addrs, where
	// the server's metadata told one. It is nil if there is none.
	AddrHostnames map[string]string
}

// ParseSlotsInfo parses the answer to CLUSTER SLOTS. Ranges come sorted. A node of
// unknown address ("?", port 0, an empty array) is left out of its range, which may
// have no node then; if it is the master, the first of Addrs is a replica.
func ParseSlotsInfo(res any) ([]SlotsRange, error) {
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	rows, ok := res.([]any)
	if !ok {
		return nil, unexpected("CLUSTER SLOTS", "not an array", res)
	}
	ranges := make([]SlotsRange, 0, len(rows))
	for _, row := range rows {
		r, why := parseSlotsRow(row)
		if why != "" {
			return nil, unexpected("CLUSTER SLOTS", why, res)
		}
		ranges = append(ranges, r)
	}
	sort.SliceStable(ranges, func(i, j int) bool { return ranges[i].From < ranges[j].From })
	return ranges, nil
}

// parseSlotsRow returns why the row is not one, or an empty string.
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
	r.From, r.To = int(from), int(to)
	for _, cell := range cells[2:] {
		addr, hostname, ok := parseSlotsNode(cell)
		if !ok {
			return r, "a node is not an array of host and port"
		}
		if addr == "" {
			continue
		}
		r.Addrs = append(r.Addrs, addr)
		if hostname != "" {
			if r.AddrHostnames == nil {
				r.AddrHostnames = make(map[string]string)
			}
			r.AddrHostnames[addr] = hostname
		}
	}
	return r, ""
}

// parseSlotsNode returns the address and the one by hostname, both as host:port.
// They are empty for what is unknown.
func parseSlotsNode(cell any) (addr, hostname string, ok bool) {
	node, isArray := cell.([]any)
	if isArray && len(node) == 0 {
		return "", "", true
	}
	if !isArray || len(node) < 2 {
		return "", "", false
	}
	port, isInt := node[1].(int64)
	if !isInt || port < 0 || port > 65535 {
		return "", "", false
	}
	host, known := "", true
	if node[0] != nil {
		if host, ok = asText(node[0]); !ok {
			return "", "", false
		}
		known = host != "?"
	}
	if len(node) > 3 {
		meta, isMap := textPairs(node[3])
		if !isMap {
			return "", "", false
		}
		hostname = meta["hostname"]
		if !known {
			host, known = meta["ip"], meta["ip"] != ""
		}
	}
	if !known || port == 0 {
		return "", "", true
	}
	if hostname != "" {
		hostname = joinHostPort(hostname, int(port))
	}
	return joinHostPort(host, int(port)), hostname, true
}
