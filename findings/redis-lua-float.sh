#!/bin/sh
# Redis 6.2.5 and Redis 8.10.2.
#
# A script that passes 0.1 to a command stores 0.10000000000000001 in Redis 6.2 (and 7.0.15), and 0.1 in Redis
# 8.10 (and Valkey 9.1.2). So an upgrade changes values, and which keys a script makes of numbers.
# tostring(0.1) is "0.1" in all of them.
#
# Output seen:
#   redis-6.2: ['0.10000000000000001', '0.1']
#   redis-8.10: ['0.1', '0.1']
#
# Wants python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
start "$("$lib/../../scripts/server.sh" redis-6.2)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir"
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17932 --bind 127.0.0.1 --save '' --dir "$dir"
python3 - <<'EOF'
from resp import Connection, expect, finish


def run(port):
    c, script = Connection(port), "redis.call('SET', KEYS[1], %s) return redis.call('GET', KEYS[1])"
    return [c("EVAL", script % "0.1", 1, "k"), c("EVAL", script % "tostring(0.1)", 1, "k")]


expect("redis-6.2", ["0.10000000000000001", "0.1"], run(17931))
expect("redis-8.10", ["0.1", "0.1"], run(17932))
finish()
EOF
