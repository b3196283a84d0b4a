#!/bin/sh
# pottery 3.0.1 with redis-py 8.1.0; redis-server.
#
# redis_cache finds a result by Python's hash of the arguments. Arguments with the same hash share a result, so f(-2)
# returns what f(-1) has returned. The hash of a text differs from process to process, so the others compute all such
# results again, and each adds a field of its own. "timeout" is that of the whole hash, and each call sets it anew, even
# one that reads a result: while there are calls, no result expires.
#
# Output seen:
#   f(-1), f(-2), f(0), f(2**61 - 1): [-1, -1, 0, 0]
#   processes that call f("text"), calls of the function, fields: 3, 3, 3
#   timeout=1, f(5) for 2 s: calls of the function: 1
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip pottery==3.0.1 redis==8.1.0
redis 17931
cat >cached.py <<'END'
import time
import warnings

from pottery import redis_cache
from redis import Redis

warnings.simplefilter("ignore")
redis, calls = Redis(port=17931), []


@redis_cache(redis=redis, key="numbers", timeout=1)
def f(x):
    calls.append(x)
    return x


@redis_cache(redis=redis, key="texts")
def text(x):
    redis.incr("calls")
    return x
END
cat >main.py <<'END'
from cached import calls, f, redis, text, time
from resp import expect, finish

expect("f(-1), f(-2), f(0), f(2**61 - 1)", [-1, -1, 0, 0], [f(-1), f(-2), f(0), f(2**61 - 1)])
processes = f"3, {int(redis.get('calls'))}, {redis.hlen('texts')}"
expect('processes that call f("text"), calls of the function, fields', "3, 3, 3", processes)
calls.clear()
for _ in range(20):
    f(5)
    time.sleep(0.1)
expect("timeout=1, f(5) for 2 s: calls of the function", 1, len(calls))
finish()
END
# Python chooses a seed at random for each process, unless it is given one.
for seed in 1 2 3; do
	PYTHONHASHSEED=$seed PYTHONPATH="$PYTHONPATH:$dir" python3 -c 'from cached import text; text("text")'
done
python3 main.py
