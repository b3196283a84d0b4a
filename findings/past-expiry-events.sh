#!/bin/sh
# Redis 8.10.2 and Valkey 9.1.2.
#
# Redis and Valkey raise different keyspace events for the same command. If it sets the time to live of a key or a
# field to a moment in the past, as EXPIRE -1 does, Redis reports a deletion (del, hdel), and Valkey an expiration
# (expired, hexpired). MSETEX raises expire before set in Redis, and after it in Valkey. So after a move from one to the
# other, a program that waits for one of these events no longer gets it. For EXPIRE, Redis 7.0.15 and Valkey 8.1.8
# already differ.
#
# Output seen:
#   redis-8.10, EXPIRE k -1: 'del'
#   valkey-9.1, EXPIRE k -1: 'expired'
#   redis-8.10, GETEX k EXAT 1: 'del'
#   valkey-9.1, GETEX k EXAT 1: 'expired'
#   redis-8.10, SET k v EXAT 1: 'del'
#   valkey-9.1, SET k v EXAT 1: 'expired'
#   redis-8.10, HEXPIRE h 0 FIELDS 1 a: 'hdel'
#   valkey-9.1, HEXPIRE h 0 FIELDS 1 a: 'hexpired'
#   redis-8.10, HGETEX h EXAT 1 FIELDS 1 a: 'hdel'
#   valkey-9.1, HGETEX h EXAT 1 FIELDS 1 a: 'hexpired'
#   redis-8.10, HSETEX h EXAT 1 FIELDS 1 a 1: 'hset hdel'
#   valkey-9.1, HSETEX h EXAT 1 FIELDS 1 a 1: 'hset hexpire hexpired'
#   redis-8.10, MSETEX 1 k v EX 9: 'expire set'
#   valkey-9.1, MSETEX 1 k v EX 9: 'set expire'
#
# Wants python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
mkdir redis valkey
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir/redis"
start "$("$lib/../../scripts/server.sh" valkey-9.1)" --port 17932 --bind 127.0.0.1 --save '' --dir "$dir/valkey"
python3 - <<'END'
from resp import Connection, expect, finish


def events(port, before, command):
    """Return the events that the command has raised."""
    c, subscriber = Connection(port), Connection(port)
    c.all("FLUSHALL", *before)
    c("CONFIG SET notify-keyspace-events KEA")
    subscriber.all("PSUBSCRIBE __keyevent@0__:*", "SUBSCRIBE end")
    c.all(command, "PUBLISH end .")
    seen = []
    while True:
        kind, *words = subscriber.read()
        if kind == "message":
            return " ".join(seen)
        seen.append(words[1].split(":")[1])


for command, before, redis, valkey in (
    ("EXPIRE k -1", ["SET k v"], "del", "expired"),
    ("GETEX k EXAT 1", ["SET k v"], "del", "expired"),
    ("SET k v EXAT 1", ["SET k v"], "del", "expired"),
    ("HEXPIRE h 0 FIELDS 1 a", ["HSET h a 1 b 2"], "hdel", "hexpired"),
    ("HGETEX h EXAT 1 FIELDS 1 a", ["HSET h a 1 b 2"], "hdel", "hexpired"),
    ("HSETEX h EXAT 1 FIELDS 1 a 1", ["HSET h a 1 b 2"], "hset hdel", "hset hexpire hexpired"),
    ("MSETEX 1 k v EX 9", [], "expire set", "set expire"),
):
    expect(f"redis-8.10, {command}", redis, events(17931, before, command))
    expect(f"valkey-9.1, {command}", valkey, events(17932, before, command))
finish()
END
