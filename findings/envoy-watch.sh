#!/bin/sh
# Envoy 1.40.0, redis_proxy before one server of Redis.
#
# WATCH is answered with OK and has no effect: the transaction runs although another connection
# has changed the key since. The documentation lists WATCH among the supported commands.
#
# Output seen:
#   direct: ['OK', 'mine', 'OK', 'QUEUED', None, 'theirs']
#   through Envoy: ['OK', 'mine', 'OK', 'QUEUED', ['OK'], 'lost update']
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def run(port):
    me, other = Connection(port), Connection(port)
    other("SET k mine")
    replies = [me("WATCH k"), me("GET k")]
    other("SET k theirs")
    replies += [me("MULTI"), me("SET", "k", "lost update"), me("EXEC")]
    return replies + [other("GET k")]


expect("direct", ["OK", "mine", "OK", "QUEUED", None, "theirs"], run(17931))
expect("through Envoy", ["OK", "mine", "OK", "QUEUED", ["OK"], "lost update"], run(17930))
finish()
EOF
