#!/bin/sh
# redis-py 8.1.0, with and without hiredis 3.5.0; redis-server.
#
# A client with decode_responses=True returns text. Without a protocol it speaks RESP3, and is meant to return what
# protocol=2, the former default, returns. But its scores are bytes: ZDIFF and ZRANDMEMBER mix text with bytes, and
# where a caller casts them with str, a score is "b'1.5'".
#
# Output seen, twice:
#   protocol 2, zrange with score_cast_func=str: [('member', '1.5')]
#   protocol 2, zdiff: ['member', '1.5']
#   protocol 2, zrandmember: ['member', '1.5']
#   default, zrange with score_cast_func=str: [('member', "b'1.5'")]
#   default, zdiff: ['member', b'1.5']
#   default, zrandmember: ['member', b'1.5']
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip redis==8.1.0
redis 17931
cat >main.py <<'EOF'
from redis import Redis
from resp import Connection, expect, finish

Connection(17931)("ZADD set 1.5 member")
for name, options, text, score in ("protocol 2", {"protocol": 2}, "1.5", "1.5"), ("default", {}, "b'1.5'", b"1.5"):
    client = Redis(port=17931, decode_responses=True, **options)
    expect(f"{name}, zrange with score_cast_func=str", [("member", text)],
           client.zrange("set", 0, -1, withscores=True, score_cast_func=str))
    expect(f"{name}, zdiff", ["member", score], client.zdiff(["set", "none"], withscores=True))
    expect(f"{name}, zrandmember", ["member", score], client.zrandmember("set", 1, withscores=True))
finish()
EOF
python3 main.py
pip hiredis==3.5.0
python3 main.py
