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

// place is where a SCAN of a cluster goes on: all keys of lower slots have been returned. Clients get
// it as a cursor. No connection keeps it, since the next step may come on another one.
type place struct {
	slot   int    // its master is walked, for the keys of this slot and of those behind it that are that master's
	master uint64 // a part of the hash of the master's address: the cursor of another one is worth nothing
	cursor uint64 // the master's own
}

// A cursor has these, from its lowest bits on. What is left for the server's own is enough for 2^40 keys of
// one master.
const (
	slotBits   = 14
	masterBits = 10
	slots      = 1 << slotBits
	masters    = 1 << masterBits
)

func placeOf(cursor uint64) place {
	return place{int(cursor % slots), cursor >> slotBits % masters, cursor >> (slotBits + masterBits)}
}

// join is the opposite of placeOf. It returns false if the master's cursor is too large.
func (p place) join() (cursor uint64, fits bool) {
	high := p.cursor << (slotBits + masterBits)
	return high | p.master<<slotBits | uint64(p.slot), high>>(slotBits+masterBits) == p.cursor
}

// scan is a step of SCAN. Ranges of slots are walked in their order, each at its master; if that
// changes, from the beginning of the range.
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
		return redis.ErrResult.New("ERR the cursor of the server is too large for one of all masters")
	case at.slot == slots:
		next = 0
	}
	return []any{strconv.AppendUint(nil, next, 10), left}
}

// served returns the first slot from this one on that has a master, and slots if there is none.
func (s *Servers) served(from int) int {
	for from < slots && s.nodes.Master(from) == nil {
		from++
	}
	return from
}

// end returns the first slot behind this one that has another master.
func (s *Servers) end(from int, master backend.Node) int {
	for from++; from < slots && s.nodes.Master(from) == master; from++ {
	}
	return from
}

// part returns place.master of a master.
func part(master backend.Node) uint64 {
	return uint64(crc32.ChecksumIEEE([]byte(master.Addr()))) % masters
}
