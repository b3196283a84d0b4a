package upstream

import (
	"context"
	"hash/crc32"
	"strconv"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// place is the position of a SCAN in a cluster: all keys of lower slots have been returned. Clients get it
// as the cursor. The cursor contains the whole position, because the client may use another connection for
// the next step.
type place struct {
	slot   int    // the scan of the slot's master returns keys of this slot and of higher slots
	master uint64 // some bits of the hash of the master's address, because a cursor is valid only at that master
	cursor uint64 // the master's own cursor
}

// A cursor consists of the slot in the lowest bits, the bits of the master, and the master's own cursor in
// the remaining bits, which suffice for 2^40 keys.
const (
	slotBits   = 14
	masterBits = 10
	slots      = 1 << slotBits
	masters    = 1 << masterBits
)

func placeOf(cursor uint64) place {
	return place{int(cursor % slots), cursor >> slotBits % masters, cursor >> (slotBits + masterBits)}
}

// join packs a place into a cursor, which placeOf unpacks. join returns false if the master's cursor is
// too large.
func (p place) join() (cursor uint64, fits bool) {
	high := p.cursor << (slotBits + masterBits)
	return high | p.master<<slotBits | uint64(p.slot), high>>(slotBits+masterBits) == p.cursor
}

// scan runs one step of SCAN. It walks ranges of slots in order, each at its master. If the master
// of a range changes, it starts the range again.
func (s *Servers) scan(ctx context.Context, req redis.Request) any {
	if len(req.Args) == 0 {
		return redis.ErrResult.New("ERR wrong number of arguments for 'scan' command")
	}
	text, _ := redis.ArgToString(req.Args[0])
	cursor, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return redis.ErrResult.New("ERR invalid cursor")
	}
	at := placeOf(cursor)
	if cursor == 0 {
		at.slot = s.served(0)
	}
	master := s.nodes.Master(at.slot % slots)
	if master == nil {
		return rediscluster.ErrNoAliveConnection.New("slot %d has no master", at.slot)
	}
	if of := part(master); of != at.master {
		at.master, at.cursor = of, 0
	}
	req.Args[0] = at.cursor
	it, keys, failed := redis.ScanResponse(redis.SyncCtx{S: master.(*redisconn.Connection)}.Send(ctx, req))
	if failed != nil {
		return failed
	}
	end := s.end(at.slot, master)
	left := []any{}
	for _, key := range keys {
		if in := int(slot.Of(key)); at.slot <= in && in < end {
			left = append(left, []byte(key))
		}
	}
	if at.cursor, err = strconv.ParseUint(string(it), 10, 64); err != nil {
		return redis.ErrResponseUnexpected.New("scan: the cursor is not a number")
	}
	if at.cursor == 0 {
		at.slot = s.served(end)
	}
	next, fits := at.join()
	switch {
	case !fits:
		return redis.ErrResult.New("ERR the server's cursor is too large to be part of a cursor for all masters")
	case at.slot == slots:
		next = 0
	}
	return []any{strconv.AppendUint(nil, next, 10), left}
}

// served returns the first slot that has a master, from the given one on, or slots if there is
// none.
func (s *Servers) served(from int) int {
	for from < slots && s.nodes.Master(from) == nil {
		from++
	}
	return from
}

// end returns the first slot after from that has a different master, or slots if there is none.
func (s *Servers) end(from int, master backend.Node) int {
	for from++; from < slots && s.nodes.Master(from) == master; from++ {
	}
	return from
}

// part returns the value of place.master for a master.
func part(master backend.Node) uint64 {
	return uint64(crc32.ChecksumIEEE([]byte(master.Addr()))) % masters
}
