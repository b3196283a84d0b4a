package limit

import "github.com/joomcode/redispipe/redis"

// answerLen is how many numbers a script returns for each take: whether the take is allowed, how many more
// requests would pass, the microseconds until the take passes, and the microseconds until the burst passes.
const answerLen = 4

// Both scripts get the key, and Count, Per in microseconds, Burst, the number of requests to take in advance, and N of each
// take. They decide about the takes one after the other, as if each take had its own call. If no take is refused, they then
// take requests in advance, but at most an eighth of those that would pass. The last number of the answer is how many
// requests were taken in advance.

// smooth keeps the level of a bucket, which falls by Count in each Per, and the time of that level. This is GCRA
// with a continuous state. If the server's clock is set back, the level stays as it is and falls from the new time
// on. A level that exceeds the burst only by a rounding error is allowed.
var smooth = redis.NewScript(`
local count, per, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now, level = t[1] * 1000000 + t[2], 0
local state = redis.call('GET', KEYS[1])
if state then
  local was, at = string.match(state, '^(%S+) (%d+)$')
  level = math.max(0, was - math.max(0, now - at) * count / per)
end
local answers, taken, ahead = {}, false, tonumber(ARGV[4])
for i = 5, #ARGV do
  local n = tonumber(ARGV[i])
  local allowed, retry = 0, 0
  if level + n <= burst + 0.000000001 then
    allowed, level = 1, level + n
    taken = taken or n > 0
  else
    retry, ahead = math.ceil((level + n - burst) * per / count), 0
  end
  local at = #answers
  answers[at + 1], answers[at + 2] = allowed, math.max(0, math.floor(burst - level + 0.000000001))
  answers[at + 3], answers[at + 4] = retry, math.ceil(level * per / count)
end
ahead = math.min(ahead, math.max(0, math.floor((burst - level) / 8)))
answers[#answers + 1], level = ahead, level + ahead
if taken or ahead > 0 then
  redis.call('SET', KEYS[1], string.format('%.17g %.0f', level, now), 'PX', math.ceil(level * per / count / 1000) + 1)
end
return answers
`)

// window keeps a list: the sum of all counts and, for each step in which requests have passed, the step's number
// and count, the oldest step first. A step counts until all of it is older than Per. If the clock is set back,
// requests count in the newest step.
var window = redis.NewScript(`
local key, limit, step = KEYS[1], tonumber(ARGV[1]), math.ceil(ARGV[2] / 128)
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local current = math.floor(now / step)
local sum = tonumber(redis.call('LINDEX', key, 0) or 0)
local first = 1
local old = tonumber(redis.call('LINDEX', key, first))
while old and old < current - 128 do
  sum = sum - redis.call('LINDEX', key, first + 1)
  first = first + 2
  old = tonumber(redis.call('LINDEX', key, first))
end
local newest = old and tonumber(redis.call('LINDEX', key, -2))
local added, fresh = 0, not newest or newest < current
local function write()
  if added == 0 then
    return
  end
  redis.call('LTRIM', key, first, -1)
  if fresh then
    redis.call('RPUSH', key, string.format('%.0f', current), added)
  else
    redis.call('LSET', key, -1, redis.call('LINDEX', key, -1) + added)
  end
  redis.call('LPUSH', key, string.format('%.0f', sum))
  redis.call('PEXPIRE', key, math.ceil(130 * step / 1000))
  first, added, fresh = 1, 0, false
end
local answers, ahead = {}, tonumber(ARGV[4])
for i = 5, #ARGV do
  local n = tonumber(ARGV[i])
  local allowed, retry = 1, 0
  if sum + n > limit then
    write()
    local left, at = sum, first
    while left + n > limit do
      old = redis.call('LINDEX', key, at)
      left = left - redis.call('LINDEX', key, at + 1)
      at = at + 2
    end
    allowed, retry, ahead = 0, (old + 129) * step - now, 0
  elseif n > 0 then
    sum, added = sum + n, added + n
    newest = fresh and current or newest
  end
  local at = #answers
  answers[at + 1], answers[at + 2], answers[at + 3] = allowed, limit - sum, retry
  answers[at + 4] = newest and (newest + 129) * step - now or 0
end
ahead = math.min(ahead, math.floor((limit - sum) / 8))
answers[#answers + 1], sum, added = ahead, sum + ahead, added + ahead
write()
return answers
`)
