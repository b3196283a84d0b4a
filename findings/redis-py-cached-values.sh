#!/bin/sh
# redis-py 8.1.0 with hiredis 3.5.0, its client-side cache (cache_config, RESP3); Redis 8.10.2.
#
# HGETALL, LRANGE and MGET return the very object that stays in the cache. A caller that sorts the list or adds to the
# dict changes what all later callers of this client read, until the key changes on the server. Without the cache each
# call returns its own. SMEMBERS is not concerned: its set is made of the list in the cache for each call.
#
# Output seen:
#   without a cache, HGETALL after a caller's change: {'a': '1', 'b': '2'}
#   without a cache, LRANGE after a caller's sort: ['3', '1', '2']
#   cached, HGETALL after a caller's change: {'b': '2', 'c': 'not in Redis'}
#   cached, LRANGE after a caller's sort: ['1', '2', '3']
#   cached, MGET after a caller's change: ['a default', None]
#   the server's hash: {'a': '1', 'b': '2'}
#
# Wants python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip redis==8.1.0 hiredis==3.5.0
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir"
python3 - <<'EOF'
from redis import Redis
from redis.cache import CacheConfig
from resp import Connection, expect, finish

Connection(17931)
plain = Redis(port=17931, protocol=3, decode_responses=True)
cached = Redis(port=17931, protocol=3, decode_responses=True, cache_config=CacheConfig())
plain.hset("hash", mapping={"a": 1, "b": 2})
plain.rpush("list", 3, 1, 2)


def after_change(client):
    found = client.hgetall("hash")
    found["c"] = "not in Redis"
    del found["a"]
    return client.hgetall("hash")


def after_sort(client):
    client.lrange("list", 0, -1).sort()
    return client.lrange("list", 0, -1)


expect("without a cache, HGETALL after a caller's change", {"a": "1", "b": "2"}, after_change(plain))
expect("without a cache, LRANGE after a caller's sort", ["3", "1", "2"], after_sort(plain))
expect("cached, HGETALL after a caller's change", {"b": "2", "c": "not in Redis"}, after_change(cached))
expect("cached, LRANGE after a caller's sort", ["1", "2", "3"], after_sort(cached))
values = cached.mget("none", "neither")
values[0] = "a default"
expect("cached, MGET after a caller's change", ["a default", None], cached.mget("none", "neither"))
expect("the server's hash", {"a": "1", "b": "2"}, plain.hgetall("hash"))
finish()
EOF
