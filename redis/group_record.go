package redis

import (
	"context"
	"fmt"
)

// groupRepairer is the consumer that has the entries of a group that was made again,
// until another claims them. Nobody reads by that name.
const groupRepairer = "redispipe-repair"

// groupLow is the member of the record that stands for the ID up to which everything
// is acknowledged: its score is the ID's milliseconds. The other members are IDs that
// are acknowledged, from there on, with theirs.
const groupLow = "low"

// repairGroup makes a group, if there is none. Without a record it begins after an
// ID. Else it begins behind the last entry, and all entries that were not acknowledged
// are pending, as if they had just been delivered: a reader that still works on one
// has the time to acknowledge it. It does so in one step, since others read as soon as
// the group is there. It answers with how many entries these are, or -1 if the group
// was not there before, or is there already.
var repairGroup = NewScript(`
local stream, record = KEYS[1], KEYS[2]
local group, start, repairer, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local exists = redis.call('EXISTS', stream) == 1
if exists then
	for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
		if info[2] == group then return -1 end
	end
end
local low = redis.call('ZSCORE', record, 'low')
if not low or not exists then
	redis.call('XGROUP', 'CREATE', stream, group, start, 'MKSTREAM')
	redis.call('DEL', record)
	redis.call('ZADD', record, string.match(start, '%d+'), 'low')
	return -1
end
low = string.format('%.0f', low)
local last, from, lost, seen = low == '0' and '0-0' or string.format('%.0f-18446744073709551615', low - 1), low, {}, 0
repeat
	local page = redis.call('XRANGE', stream, from, '+', 'COUNT', 1000)
	for _, entry in ipairs(page) do
		last = entry[1]
		if not redis.call('ZSCORE', record, last) then lost[#lost + 1] = last end
	end
	seen = seen + #page
	from = '(' .. last
until #page < 1000 or seen >= most
redis.call('XGROUP', 'CREATE', stream, group, last)
for i = 1, #lost, 1000 do
	local claim = {'XCLAIM', stream, group, repairer, 0}
	for j = i, math.min(i + 999, #lost) do claim[#claim + 1] = lost[j] end
	claim[#claim + 1] = 'FORCE'
	claim[#claim + 1] = 'JUSTID'
	redis.call(unpack(claim))
end
return #lost`)

// repair makes the group. If it was there before it returns ErrGroupDestroyed.
func (l *groupLoop) repair(ctx context.Context) error {
	var lost int
	err := repairGroup.DoInto(ctx, l.db.S, &lost, []string{l.opts.Stream, l.opts.Record},
		l.opts.Group, l.opts.Start, groupRepairer, groupRecordMost)
	if err == nil && lost >= 0 {
		err = ErrGroupDestroyed.New("the group was destroyed and is made again, with %d entries that were not acknowledged", lost)
	}
	return err
}

// trimAfter is after how many acknowledgements a reader trims the record at the latest:
// five requests more in sixteen thousand entries.
const trimAfter = 1 << 14

// trim drops from the record what lies before the oldest entry that is not
// acknowledged, if this reader has acknowledged anything since the last time.
func (l *groupLoop) trim(ctx context.Context) error {
	recorded := l.recorded.Load()
	if recorded == 0 {
		return nil
	}
	// The order matters: what was delivered before the last of the record was, and
	// is not pending afterwards, is acknowledged.
	results := l.db.SendMany(ctx, []Request{
		Req("ZREVRANGE", l.opts.Record, 0, 1),
		Req("XPENDING", l.opts.Stream, l.opts.Group),
	})
	last, err := As[[]string](results[0])
	if err != nil {
		return err
	}
	pending, err := As[[]any](results[1])
	if err != nil {
		return err
	}
	low, ok := lowOf(last, pending)
	if !ok {
		l.recorded.Add(-recorded)
		return nil
	}
	_, err = l.db.SendTransaction(ctx, []Request{
		Req("ZREMRANGEBYSCORE", l.opts.Record, "-inf", fmt.Sprint("(", low)),
		Req("ZREMRANGEBYRANK", l.opts.Record, 0, -groupRecordMost-1),
		Req("ZADD", l.opts.Record, "GT", low, groupLow),
	})
	if err == nil {
		l.recorded.Add(-recorded)
	}
	return err
}

// lowOf returns the milliseconds before which everything is acknowledged: those of the
// oldest pending entry, and at most those of the last one acknowledged. last are the
// last two members of the record, pending what XPENDING has answered.
func lowOf(last []string, pending []any) (int64, bool) {
	for _, id := range last {
		low, ok := entryMillis(id)
		if !ok { // it is groupLow
			continue
		}
		if len(pending) > 1 && pending[1] != nil {
			first, _ := As[string](pending[1])
			oldest, ok := entryMillis(first)
			return min(low, oldest), ok
		}
		return low, true
	}
	return 0, false
}
