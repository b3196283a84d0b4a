#!/bin/sh
# Envoy 1.40.0, redis_proxy before one server of Redis.
#
# A command that Envoy does not support, between MULTI and EXEC, is refused, but EXEC runs the
# others. Redis answers EXECABORT after a command that it refused: a transaction runs as a whole
# or not at all. (After a wrong number of arguments, which Envoy lets the server find, it does too.)
#
# Output seen:
#   direct, EXEC: 'EXECABORT Transaction discarded because of previous errors.'
#   direct, k: None
#   through Envoy, EXEC: ['OK']
#   through Envoy, k: '1'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931
python3 - <<'EOF'
from resp import Connection, expect, finish


def run(port, unsupported):
    c = Connection(port)
    c("MULTI")
    c("SET k 1")
    c(unsupported)
    return c("EXEC"), c("GET k")


executed, k = run(17931, "NOSUCH k")
expect("direct, EXEC", "EXECABORT Transaction discarded because of previous errors.", executed)
expect("direct, k", None, k)
executed, k = run(17930, "XINFO STREAM k")
expect("through Envoy, EXEC", ["OK"], executed)
expect("through Envoy, k", "1", k)
finish()
EOF
