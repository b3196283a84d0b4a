package aside

import "github.com/joomcode/redispipe/redis"

// The answers of the script claim to a caller that wants to load an entry.
const (
	granted = iota // the caller must load the entry
	kept           // there is a new entry
	waiting        // another caller loads; followed by the milliseconds until its lease ends
	failing        // loading has failed; followed by the milliseconds until the next attempt is allowed
)

// claim grants the lease of an entry to the owner ARGV[1] for the time ARGV[2], if the entry is missing or at least
// as old as ARGV[3].
var claim = redis.NewScript(`
local raw = redis.call('GET', KEYS[1])
if raw then
  local t = redis.call('TIME')
  local age = t[1] * 1000 + math.floor(t[2] / 1000) - string.sub(raw, 2, 16)
  if string.sub(raw, 1, 1) ~= 'v' or age < tonumber(ARGV[3]) then return {1, raw} end
end
local owner = redis.call('GET', KEYS[2])
if owner and owner ~= ARGV[1] then
  return {owner == 'failed' and 3 or 2, redis.call('PTTL', KEYS[2])}
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {0, 0}
`)

// renew prolongs the lease of an owner.
var renew = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[2], ARGV[2])
`)

// store ends the lease of an owner, and stores an entry of the kind ARGV[2] with the value ARGV[3] for the time
// ARGV[4].
var store = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local t = redis.call('TIME')
local made = string.format('%015.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('SET', KEYS[1], ARGV[2] .. made .. ARGV[3], 'PX', ARGV[4])
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', KEYS[1], '')
return 1
`)

// release ends the lease of an owner. If loading has failed, it keeps all callers from loading for the time
// ARGV[2].
var release = redis.NewScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
if tonumber(ARGV[2]) > 0 then
  redis.call('SET', KEYS[2], 'failed', 'PX', ARGV[2])
else
  redis.call('DEL', KEYS[2])
end
redis.call('PUBLISH', KEYS[1], '')
return 1
`)

// remove removes an entry and its lease, and wakes the waiting callers.
var remove = redis.NewScript(`
local removed = redis.call('DEL', KEYS[1], KEYS[2])
redis.call('PUBLISH', KEYS[1], '')
return removed > 0 and 1 or 0
`)
