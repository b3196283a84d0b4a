#!/bin/sh
# miniredis 2.40.0.
#
# SINTERSTORE, SDIFFSTORE and ZUNIONSTORE of nothing leave an empty key, which exists and has a type. In
# Redis no key is empty: the destination is deleted.
#
# Output seen:
#   Redis, EXISTS: [0, 0, 0]
#   Redis, TYPE: ['none', 'none', 'none']
#   miniredis, EXISTS: [1, 1, 1]
#   miniredis, TYPE: ['set', 'set', 'zset']
#
# Wants go, redis-server, redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
miniredis 17930
redis 17931
python3 - <<'EOF'
from resp import Connection, expect, finish

for name, port, exist, types in (
    ("Redis", 17931, [0, 0, 0], ["none", "none", "none"]),
    ("miniredis", 17930, [1, 1, 1], ["set", "set", "zset"]),
):
    c = Connection(port)
    c("SINTERSTORE a nokey")
    c("SDIFFSTORE b nokey")
    c("ZUNIONSTORE c 1 nokey")
    expect(f"{name}, EXISTS", exist, [c("EXISTS", key) for key in "abc"])
    expect(f"{name}, TYPE", types, [c("TYPE", key) for key in "abc"])
finish()
EOF
