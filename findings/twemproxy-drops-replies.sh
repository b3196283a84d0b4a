#!/bin/sh
# twemproxy 0.5.0 (Debian 12, nutcracker 0.5.0+dfsg-2) before one server of Redis.
#
# A command that it does not know, such as ECHO, closes the connection, and the replies to what was
# pipelined before it are dropped, although these commands have run. Redis answers all, the unknown
# command with an error.
#
# Output seen:
#   direct: ['OK', 2, 'hello']
#   through twemproxy: 'the connection is closed after 0 replies'
#   n afterwards: '2'
#
# Wants apt-get of Debian 12, redis-server, redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
apt-get -o APT::Sandbox::User="$(id -un)" download nutcracker=0.5.0+dfsg-2 >/dev/null
dpkg-deb -x nutcracker_*.deb nutcracker
cat >nutcracker.yml <<END
alpha:
  listen: 127.0.0.1:17930
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
   - 127.0.0.1:17931:1
END
redis 17931
start nutcracker/usr/sbin/nutcracker -c nutcracker.yml -a 127.0.0.1 -s 17933
python3 - <<'EOF'
from resp import Connection, expect, finish

commands = "SET n 1", "INCR n", "ECHO hello"
direct = Connection(17931)
expect("direct", ["OK", 2, "hello"], direct.all(*commands))
direct("FLUSHALL")
proxy, replies = Connection(17930), 0
proxy("GET n")
proxy.send(*commands)
try:
    while True:
        proxy.read()
        replies += 1
except (EOFError, ConnectionResetError):
    expect("through twemproxy", "the connection is closed after 0 replies", f"the connection is closed after {replies} replies")
expect("n afterwards", "2", Connection(17930)("GET n"))
finish()
EOF
