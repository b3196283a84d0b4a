#!/bin/sh
# fakeredis 2.41.0, its TcpFakeServer.
#
# GET, HGET and LPOP return a simple string, as OK is one, and a bulk string only for a value with a
# line feed in it. MGET returns bulk strings. Redis returns a value as a bulk string always: a client
# that tells a status from a value by the type of the reply cannot do so here.
#
# Output seen:
#   Redis, GET: 'bulk'
#   fakeredis, GET: 'simple'
#   fakeredis, GET of two lines: 'bulk'
#   fakeredis, MGET: 'bulk'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
fakeredis 17930
redis 17931
python3 - <<'EOF'
from resp import Connection, Simple, expect, finish


def kind(reply):
    return "simple" if isinstance(reply, Simple) else "bulk"


direct, fake = Connection(17931), Connection(17930)
for c in direct, fake:
    c("SET k v")
    c("SET", "two", "one\r\ntwo")
expect("Redis, GET", "bulk", kind(direct("GET k")))
expect("fakeredis, GET", "simple", kind(fake("GET k")))
expect("fakeredis, GET of two lines", "bulk", kind(fake("GET two")))
expect("fakeredis, MGET", "bulk", kind(fake("MGET k")[0]))
finish()
EOF
