#!/bin/sh
# Envoy 1.40.0, redis_proxy before one server of Redis.
#
# MGET of a key that is no string contains an error in place of its value. Redis' MGET never
# fails, and has null there: Envoy sends a GET for each key.
#
# Output seen:
#   direct: ['v', None]
#   through Envoy: ['v', 'WRONGTYPE Operation against a key holding the wrong kind of value']
#   … an error: True
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931
python3 - <<'EOF'
from resp import Connection, Error, expect, finish

direct, proxy = Connection(17931), Connection(17930)
direct("SET string v")
direct("RPUSH list v")
expect("direct", ["v", None], direct("MGET string list"))
got = proxy("MGET string list")
expect("through Envoy", ["v", "WRONGTYPE Operation against a key holding the wrong kind of value"], got)
expect("… an error", True, isinstance(got[1], Error))
finish()
EOF
