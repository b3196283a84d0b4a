#!/bin/sh
# Envoy 1.40.0, redis_proxy before one server of Redis.
#
# The second number of TIME is the microseconds since 1970. Redis' is those of the present second,
# below 1,000,000: who computes seconds * 1e6 + microseconds, as TIME is commonly read, gets twice
# the time.
#
# Output seen:
#   direct, microseconds below a million: True
#   through Envoy, microseconds below a million: False
#   through Envoy, microseconds are those since 1970: True
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
envoy 17930 17931
python3 - <<'EOF'
from resp import Connection, expect, finish

seconds, microseconds = map(int, Connection(17931)("TIME"))
expect("direct, microseconds below a million", True, microseconds < 1000000)
seconds, microseconds = map(int, Connection(17930)("TIME"))
expect("through Envoy, microseconds below a million", False, microseconds < 1000000)
expect("through Envoy, microseconds are those since 1970", True, microseconds // 1000000 == seconds)
finish()
EOF
