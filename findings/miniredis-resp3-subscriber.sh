#!/bin/sh
# miniredis 2.40.0.
#
# A subscriber that has chosen RESP3 may send no other command, as one with RESP2. HELLO 3 is answered with
# proto 3, and messages come as pushes, which are there so that it may.
#
# Output seen:
#   Redis: (3, 'Push', 'v', 'Push')
#   miniredis: (3, 'Push', "ERR Can't execute 'get': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT are allowed in this context", 'Push')
#
# Wants go, redis-server, redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
miniredis 17930
redis 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def run(port):
    subscriber, other = Connection(port), Connection(port)
    other("SET k v")
    proto = subscriber("HELLO 3")["proto"]
    confirmed = type(subscriber("SUBSCRIBE channel")).__name__
    got = subscriber("GET k")
    other("PUBLISH channel message")
    return proto, confirmed, got, type(subscriber.read()).__name__


expect("Redis", (3, "Push", "v", "Push"), run(17931))
expect("miniredis", (3, "Push", "ERR Can't execute 'get': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT "
                     "are allowed in this context", "Push"), run(17930))
finish()
EOF
