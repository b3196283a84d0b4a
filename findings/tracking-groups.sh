#!/bin/sh
# Redis 8.10.2 and Valkey 9.1.2 (and Redis 7.0.15); redis-py 8.1.0.
#
# Commands that change the groups of a stream (XREADGROUP, XACK, XCLAIM, XGROUP) send no invalidation to a connection
# with CLIENT TRACKING, not even with BCAST, and abort no transaction that watches the stream. XPENDING and XINFO
# GROUPS read the stream's key, and these commands change their replies. The cache of redis-py keeps XPENDING: it
# returns the old reply until somebody adds an entry.
#
# Output seen:
#   redis-8.10, pushes after: 'XREADGROUP 0, XACK 0, XCLAIM 0, XGROUP CREATE 0, XGROUP DESTROY 0, XADD 1'
#   redis-8.10, replies that changed: "5 of 5; pushes with BCAST: 1; EXEC after WATCH and XACK: ['PONG']"
#   valkey-9.1, pushes after: 'XREADGROUP 0, XACK 0, XCLAIM 0, XGROUP CREATE 0, XGROUP DESTROY 0, XADD 1'
#   valkey-9.1, replies that changed: "5 of 5; pushes with BCAST: 1; EXEC after WATCH and XACK: ['PONG']"
#   redis-py, pending entries, with its cache: '0, without: 2'
#   redis-py, after XADD, with its cache: 2
#
# Wants python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip redis==8.1.0
mkdir redis valkey
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir/redis"
start "$("$lib/../../scripts/server.sh" valkey-9.1)" --port 17932 --bind 127.0.0.1 --save '' --dir "$dir/valkey"
python3 - <<'END'
import time

from redis import Redis
from redis.cache import CacheConfig
from resp import Connection, Push, expect, finish


def track(port, mode=""):
    c = Connection(port)
    c("HELLO 3")
    c("CLIENT TRACKING ON " + mode)
    return c


def pushes(c):
    """Return how many pushes came before the reply to a PING."""
    c.send("PING")
    n = 0
    while isinstance(c.read(), Push):
        n += 1
    return n


def run(name, port):
    writer, reader, broadcast = Connection(port), track(port), track(port, "BCAST")
    writer.all("XADD s 1-0 f v", "XADD s 2-0 f v", "XGROUP CREATE s g 0")
    pushes(broadcast)
    came, changed = [], 0
    for command in (
        "XREADGROUP GROUP g one COUNT 2 STREAMS s >", "XACK s g 1-0", "XCLAIM s g two 0 2-0", "XGROUP CREATE s other 0",
        "XGROUP DESTROY s other", "XADD s 3-0 f v",
    ):
        before = reader("XPENDING s g"), reader("XINFO GROUPS s")
        writer(command)
        words = command.split()
        came.append(" ".join(words[:2 if words[0] == "XGROUP" else 1]) + f" {pushes(reader)}")
        if words[0] != "XADD":
            changed += (reader("XPENDING s g"), reader("XINFO GROUPS s")) != before
    watcher = Connection(port)
    watcher("WATCH s")
    writer("XACK s g 2-0")
    executed = watcher.all("MULTI", "PING", "EXEC")[2]
    expect(f"{name}, pushes after", "XREADGROUP 0, XACK 0, XCLAIM 0, XGROUP CREATE 0, XGROUP DESTROY 0, XADD 1", ", ".join(came))
    expect(f"{name}, replies that changed", "5 of 5; pushes with BCAST: 1; EXEC after WATCH and XACK: ['PONG']",
           f"{changed} of 5; pushes with BCAST: {pushes(broadcast)}; EXEC after WATCH and XACK: {executed}")


run("redis-8.10", 17931)
run("valkey-9.1", 17932)
cached, plain = Redis(port=17931, protocol=3, cache_config=CacheConfig()), Redis(port=17931)
plain.flushall()
for i in "12":
    plain.xadd("s", {"f": "v"}, f"{i}-0")
plain.xgroup_create("s", "g", "0")
cached.xpending("s", "g")
plain.xreadgroup("g", "one", {"s": ">"})
time.sleep(0.2)  # a push would be there
expect("redis-py, pending entries, with its cache", "0, without: 2",
       f"{cached.xpending('s', 'g')['pending']}, without: {plain.xpending('s', 'g')['pending']}")
plain.xadd("s", {"f": "v"}, "3-0")
deadline = time.monotonic() + 10
while (pending := cached.xpending("s", "g")["pending"]) != 2 and time.monotonic() < deadline:
    time.sleep(0.01)
expect("redis-py, after XADD, with its cache", 2, pending)
finish()
END
