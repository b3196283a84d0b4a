#!/bin/sh
# cashews 7.6.0 with redis-py 8.1.0; redis-server.
#
# A negative integer is stored in Redis and never read again: get returns the default, without an error, although
# exists returns True and incr goes on counting. A cached function with a negative result runs on each call. The other
# values of the script come back. With the memory backend of the same library, negative integers come back, too.
#
# Output seen:
#   mem, get of 5, -5, -5.5, '-5': [5, -5, -5.5, '-5']
#   mem, after incr by -3: '-3, get: -3'
#   mem, calls of a cached function: 1
#   redis, get of 5, -5, -5.5, '-5': [5, 'default', -5.5, '-5']
#   redis, after incr by -3: '-3, get: None'
#   redis, calls of a cached function: 4
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip cashews==7.6.0 redis==8.1.0
redis 17931
python3 - <<'EOF'
import asyncio

from cashews import Cache
from resp import expect, finish


async def run(url, negative, count, calls):
    name = url.split(":")[0]
    cache = Cache()
    cache.setup(url)
    got = []
    for value in 5, -5, -5.5, "-5":
        await cache.set("key", value, expire=60)
        got.append(await cache.get("key", "default"))
    expect(f"{name}, get of 5, -5, -5.5, '-5'", [5, negative, -5.5, "-5"], got)
    expect(f"{name}, after incr by -3", f"-3, get: {count}", f"{await cache.incr('count', -3)}, get: {await cache.get('count')}")
    ran = 0

    @cache(ttl="1m", key="balance")
    async def balance():
        nonlocal ran
        ran += 1
        return -7

    for _ in range(4):
        await balance()
    expect(f"{name}, calls of a cached function", calls, ran)
    await cache.close()


asyncio.run(run("mem://", -5, -3, 1))
asyncio.run(run("redis://127.0.0.1:17931", "default", None, 4))
finish()
EOF
