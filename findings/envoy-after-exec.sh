#!/bin/sh
# Envoy 1.40.0, redis_proxy before two servers of Redis.
#
# What is pipelined behind EXEC goes to the server of the transaction, whatever its key, until the
# reply to EXEC has come back: a GET of a key that exists returns null, and a SET is acknowledged
# and lands on a server that no later request for the key asks. The connection is in no
# transaction any longer: the replies are those of plain commands.
#
# Output seen:
#   b before: 'old'
#   MULTI, SET a, EXEC, GET b and SET b at once: ['OK', 'QUEUED', ['OK'], None, 'OK']
#   b afterwards: 'old'
#   b on the server of a: 'new'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931 17932
python3 - <<'EOF'
from resp import Connection, expect, finish

proxy, one, two = Connection(17930), Connection(17931), Connection(17932)
names = [f"key{i}" for i in range(50)]
for name in names:
    proxy("SET", name, "old")
a = next(n for n in names if one("EXISTS", n))
b = next(n for n in names if two("EXISTS", n))
expect("b before", "old", proxy("GET", b))
expect("MULTI, SET a, EXEC, GET b and SET b at once", ["OK", "QUEUED", ["OK"], None, "OK"],
       proxy.all("MULTI", f"SET {a} x", "EXEC", f"GET {b}", f"SET {b} new"))
expect("b afterwards", "old", proxy("GET", b))
expect("b on the server of a", "new", one("GET", b))
finish()
EOF
