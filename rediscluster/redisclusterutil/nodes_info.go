package redisclusterutil

import (
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// nodeFields is the least number of fields in a line of CLUSTER NODES:
//
//	uuid host:port@cport[,hostname[,k=v]…] flags master sent recv epoch link [slot…]
const nodeFields = 8

// ParseClusterNodes parses the answer to CLUSTER NODES, and keeps its order. The error is an
// [redis.ErrResponseUnexpected] if a host is invalid, if there are more than 4096 nodes, or if
// the answer is malformed in any other way.
func ParseClusterNodes(res any) (InstanceInfos, error) {
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	text, ok := resp.TextOf(res)
	if !ok {
		return nil, unexpected("CLUSTER NODES", "not a string", res)
	}
	infos := InstanceInfos{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(infos) == nodesMost {
			return nil, unexpected("CLUSTER NODES", "too many nodes", res)
		}
		info, why := parseNodeLine(fields)
		if why != "" {
			return nil, unexpected("CLUSTER NODES", why, res)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// parseNodeLine parses a line. If the line is invalid, why is the reason; otherwise why is empty.
func parseNodeLine(fields []string) (i InstanceInfo, why string) {
	if len(fields) < nodeFields {
		return i, "a line of too few fields"
	}
	if len(fields)-nodeFields > 2*NumSlots { // a slot is listed at most twice: as served and as moving
		return i, "a line of too many slots"
	}
	i.Uuid = fields[0]
	if !i.parseAddr(fields[1]) {
		return i, "malformed address"
	}
	for flag := range strings.SplitSeq(fields[2], ",") {
		switch flag {
		case "myself":
			i.MySelf = true
		case "noaddr":
			i.NoAddr = true
		case "fail":
			i.Fail = true
		case "fail?":
			i.PFail = true
		}
	}
	if fields[3] != "-" {
		i.SlaveOf = fields[3]
	}
	epoch, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return i, "malformed epoch"
	}
	i.ConfigEpoch = epoch
	i.Connected = fields[7] == "connected"
	for _, field := range fields[nodeFields:] {
		if !i.parseSlots(field) {
			return i, "malformed slots"
		}
	}
	return i, ""
}

// parseAddr parses host:port@cport,hostname. The host may be empty, or IPv6
// without brackets; everything from the @ on may be missing.
func (i *InstanceInfo) parseAddr(field string) bool {
	addr, extras, _ := strings.Cut(field, ",")
	hostname, _, _ := strings.Cut(extras, ",")
	if redisurl.IsHost(hostname) { // otherwise it may be a field k=v
		i.Hostname = hostname
	}
	addr, bus, hasBus := strings.Cut(addr, "@")
	var ok bool
	if i.IP, i.Port, ok = redisurl.ParseEndpoint(addr); !ok {
		return false
	}
	i.Addr = joinHostPort(i.IP, i.Port)
	if hasBus {
		port2, err := strconv.ParseUint(bus, 10, 16)
		i.Port2 = int(port2)
		return err == nil
	}
	// Servers before 4.0 do not name the bus port, which is 10000 higher.
	if i.Port2 = i.Port + 10000; i.Port2 > 65535 {
		i.Port2 = 0
	}
	return true
}

// parseSlots parses N, N-M, [N->-uuid] or [N-<-uuid].
func (i *InstanceInfo) parseSlots(field string) bool {
	if inner, isMove := strings.CutPrefix(field, "["); isMove {
		return i.parseMove(strings.TrimSuffix(inner, "]"))
	}
	first, last, isRange := strings.Cut(field, "-")
	if !isRange {
		last = first
	}
	from, fromOk := parseSlot(first)
	to, toOk := parseSlot(last)
	if !fromOk || !toOk || to < from {
		return false
	}
	i.Slots = append(i.Slots, [2]uint16{from, to})
	return true
}

func (i *InstanceInfo) parseMove(move string) bool {
	moving := SlotMigrating
	number, peer, ok := strings.Cut(move, "->-")
	if !ok {
		moving = SlotImporting
		number, peer, ok = strings.Cut(move, "-<-")
	}
	slot, slotOk := parseSlot(number)
	if !ok || !slotOk || peer == "" {
		return false
	}
	i.Migrating = append(i.Migrating, SlotMigration{Number: slot, Moving: moving, Peer: peer})
	return true
}

func parseSlot(s string) (uint16, bool) {
	slot, err := strconv.ParseUint(s, 10, 14)
	return uint16(slot), err == nil
}

// ParseInfo parses the answer to INFO or CLUSTER INFO, which has a line "name:value" for each
// name. It skips section titles and empty lines.
func ParseInfo(res any) (map[string]string, error) {
	if err := redis.AsError(res); err != nil {
		return nil, err
	}
	text, ok := resp.TextOf(res)
	if !ok {
		return nil, unexpected("INFO", "not a string", res)
	}
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && line[0] != '#' {
			info[name] = value
		}
	}
	return info, nil
}
