#!/bin/sh
# Envoy 1.40.0, redis_proxy before two servers of Redis in a RING_HASH cluster, as its
# documentation configures it.
#
# KEYS, SCAN and FLUSHALL reach one of the servers, without an error: SCAN ends with cursor 0 after
# some of the keys, and keys outlive FLUSHALL.
#
# Output seen:
#   keys, by EXISTS: 50
#   keys, by KEYS: 'some'
#   keys, by SCAN: 'some'
#   FLUSHALL: 'OK'
#   keys afterwards, by EXISTS: 'some'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931 17932
python3 - <<'EOF'
from resp import Connection, expect, finish

proxy = Connection(17930)
names = [f"key{i}" for i in range(50)]


def some(n):
    return "some" if 0 < n < len(names) else n


def scan():
    found, cursor = [], "0"
    while True:
        cursor, page = proxy("SCAN", cursor, "COUNT", 10)
        found += page
        if cursor == "0":
            return found


for name in names:
    proxy("SET", name, "v")
expect("keys, by EXISTS", 50, proxy("EXISTS", *names))
expect("keys, by KEYS", "some", some(len(proxy("KEYS *"))))
expect("keys, by SCAN", "some", some(len(scan())))
expect("FLUSHALL", "OK", proxy("FLUSHALL"))
expect("keys afterwards, by EXISTS", "some", some(proxy("EXISTS", *names)))
finish()
EOF
