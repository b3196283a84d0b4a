#!/bin/sh
# miniredis 2.40.0.
#
# HSET and HMSET keep the time to live of a field, so the new value disappears when the old one would have. Redis
# removes the time to live. COPY drops the times to live of the fields, and Redis keeps them. HEXPIRE with 0, and HSETEX
# with a time in the past, leave the field there. HINCRBY wraps around where Redis returns an error.
#
# Output seen:
#   Redis 8.10, HTTL after HSET, HMSET, COPY: [-1, -1, 100]
#   Redis 8.10, EXISTS after HEXPIRE 0, HSETEX EXAT 1: [0, 0]
#   Redis 8.10, HINCRBY of the greatest integer: 'ERR increment or decrement would overflow'
#   miniredis, HTTL after HSET, HMSET, COPY: [100, 100, -1]
#   miniredis, EXISTS after HEXPIRE 0, HSETEX EXAT 1: [1, 1]
#   miniredis, HINCRBY of the greatest integer: -9223372036854775808
#
# Wants go, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
mkdir redis
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir/redis"
miniredis 17932
python3 - <<'EOF'
from resp import Connection, expect, finish

for name, port, left, there, most in (
    ("Redis 8.10", 17931, [-1, -1, 100], [0, 0], "ERR increment or decrement would overflow"),
    ("miniredis", 17932, [100, 100, -1], [1, 1], -9223372036854775808),
):
    c = Connection(port)
    c.all("HSETEX a EX 100 FIELDS 1 f v", "HSET a f w", "HSETEX b EX 100 FIELDS 1 f v", "HMSET b f w",
          "HSETEX c EX 100 FIELDS 1 f v", "COPY c d")
    expect(f"{name}, HTTL after HSET, HMSET, COPY", left, [c(f"HTTL {key} FIELDS 1 f")[0] for key in "abd"])
    c.all("HSET e f v", "HEXPIRE e 0 FIELDS 1 f", "HSETEX g EXAT 1 FIELDS 1 f v")
    expect(f"{name}, EXISTS after HEXPIRE 0, HSETEX EXAT 1", there, [c("EXISTS", key) for key in "eg"])
    c("HSET h n 9223372036854775807")
    expect(f"{name}, HINCRBY of the greatest integer", most, c("HINCRBY h n 1"))
finish()
EOF
