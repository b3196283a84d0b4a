#!/bin/sh
# fakeredis 2.41.0, its TcpFakeServer.
#
# The code of an error is not its first word: ERR stands before WRONGTYPE, so that a client takes it for an
# error without a code of its own. NOSCRIPT comes as from Redis.
#
# Output seen:
#   Redis: 'WRONGTYPE Operation against a key holding the wrong kind of value'
#   fakeredis: 'ERR WRONGTYPE Operation against a key holding the wrong kind of value'
#   fakeredis, EVALSHA of an unknown script: 'NOSCRIPT No matching script. Please use EVAL.'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
fakeredis 17930
redis 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def wrong(port):
    c = Connection(port)
    c("RPUSH list v")
    return c("INCR list")


wrongtype = "WRONGTYPE Operation against a key holding the wrong kind of value"
expect("Redis", wrongtype, wrong(17931))
expect("fakeredis", "ERR " + wrongtype, wrong(17930))
expect("fakeredis, EVALSHA of an unknown script", "NOSCRIPT No matching script. Please use EVAL.",
       Connection(17930)("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 0))
finish()
EOF
