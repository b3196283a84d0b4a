package lease

// queue is the first part of each script that may give a lease to another owner than the caller. The queue of a lease
// is a doubly linked list in its hash. next:X is the owner behind X, prev:X the owner before X, and ends:X the time when
// the place of X ends. The empty name stands for both ends of the list.
//
// An owner may get a lease from the queue long after it last asked. That lease ends when the place would have ended.
const queue = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]

local function digits(n) return string.format('%.0f', n) end

local function grant(owner, ends, token)
	redis.call('HSET', KEYS[1], 'owner', owner, 'until', digits(ends), 'token', token)
end

-- newToken returns at least the time in microseconds, so that tokens grow even if a failover has lost the last one.
local function newToken(last) return digits(math.max((last or 0) + 1, now)) end

local function link(a, b) redis.call('HSET', KEYS[1], 'next:' .. a, b, 'prev:' .. b, a) end

-- leave gives up the place of an owner. It returns when the place would have ended.
local function leave(owner)
	local place = redis.call('HMGET', KEYS[1], 'ends:' .. owner, 'prev:' .. owner, 'next:' .. owner)
	if place[1] then
		link(place[2], place[3])
		redis.call('HDEL', KEYS[1], 'ends:' .. owner, 'prev:' .. owner, 'next:' .. owner)
	end
	return tonumber(place[1])
end

-- enter takes the last place, or prolongs the place of the owner. Before that it removes the last places if they ended a
-- TTL ago, because their owners are dead: otherwise they would stay for as long as the lease is held.
local function enter(owner, ttl)
	if redis.call('HEXISTS', KEYS[1], 'ends:' .. owner) == 0 then
		local last = redis.call('HGET', KEYS[1], 'prev:') or ''
		while last ~= '' and redis.call('HGET', KEYS[1], 'ends:' .. last) + ttl <= now do
			leave(last)
			last = redis.call('HGET', KEYS[1], 'prev:')
		end
		link(last, owner)
		link(owner, '')
	end
	redis.call('HSET', KEYS[1], 'ends:' .. owner, digits(now + ttl))
end

-- pass grants a free lease to the first owner whose place has not ended, and wakes it. It returns nil if there is none.
local function pass(first, token)
	while first and first ~= '' do
		local ends = leave(first)
		if ends > now then
			token = newToken(token)
			grant(first, ends, token)
			redis.call('PUBLISH', KEYS[1] .. ':' .. first, '')
			return first, ends, token
		end
		first = redis.call('HGET', KEYS[1], 'next:')
	end
end
`

// Place returns the channel that wakes an owner in the queue of a key.
func Place(key, owner string) string { return key + ":" + owner }
