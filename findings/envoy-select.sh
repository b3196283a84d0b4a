#!/bin/sh
# Envoy 1.40.0, redis_proxy before one server of Redis.
#
# SELECT of one client is passed on, and so moves all clients whose requests share the upstream
# connection: what the other client writes lands in database 3.
#
# Output seen:
#   direct, SELECT 3 of one client: 'OK'
#   direct, SET of the other lands in database: [0]
#   through Envoy, SELECT 3 of one client: 'OK'
#   through Envoy, SET of the other lands in database: [3]
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def databases():
    c, found = Connection(17931), []
    for n in range(16):
        c("SELECT", n)
        if c("EXISTS k"):
            found.append(n)
    c("FLUSHALL")
    return found


for how, port, where in ("direct", 17931, [0]), ("through Envoy", 17930, [3]):
    one, other = Connection(port), Connection(port)
    expect(f"{how}, SELECT 3 of one client", "OK", one("SELECT 3"))
    other("SET k v")
    expect(f"{how}, SET of the other lands in database", where, databases())
finish()
EOF
