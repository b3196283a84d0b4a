#!/bin/sh
# miniredis 2.40.0.
#
# cjson.null is nil in scripts, so that a field with it disappears from JSON, and an object of such fields
# is encoded as an array. A script that decodes JSON, changes a field and encodes it again
# loses all fields that are null.
#
# Output seen:
#   Redis: ['{"a":null}', '{"b":null}']
#   miniredis: ['[]', '[]']
#
# Wants go, redis-server, redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
miniredis 17930
redis 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def run(port):
    c = Connection(port)
    return [c("EVAL", "return cjson.encode({a = cjson.null})", 0),
            c("EVAL", "return cjson.encode(cjson.decode(ARGV[1]))", 0, '{"b":null}')]


expect("Redis", ['{"a":null}', '{"b":null}'], run(17931))
expect("miniredis", ["[]", "[]"], run(17930))
finish()
EOF
