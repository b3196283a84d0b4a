#!/bin/sh
# Redis 8.10.2 and Valkey 9.1.2 (and Redis 7.0.15).
#
# SWAPDB sends no invalidation to a connection with CLIENT TRACKING, neither for the keys that it has read nor, with BCAST, for
# any. What such a client has cached of the two databases stays. A transaction that watches the same key is aborted, and
# FLUSHDB, even of another database, is reported. The documentation of client-side caching names no exception.
#
# Output seen:
#   redis-8.10: the key was 'zero', now is 'one'; pushes after SWAPDB: 0, with BCAST: 0; EXEC after WATCH: None; pushes after FLUSHDB: 1
#   valkey-9.1: the key was 'zero', now is 'one'; pushes after SWAPDB: 0, with BCAST: 0; EXEC after WATCH: None; pushes after FLUSHDB: 1
#
# Wants python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
mkdir redis valkey
start "$("$lib/../../scripts/server.sh" redis-8.10)" --port 17931 --bind 127.0.0.1 --save '' --dir "$dir/redis"
start "$("$lib/../../scripts/server.sh" valkey-9.1)" --port 17932 --bind 127.0.0.1 --save '' --dir "$dir/valkey"
python3 - <<'EOF'
from resp import Connection, Push, expect, finish


def track(port, mode):
    c = Connection(port)
    c("HELLO 3")
    c("CLIENT TRACKING ON " + mode)
    return c, c("GET key")


def pushes(c):
    """Return how many pushes came before the reply to a PING."""
    c.send("PING")
    n = 0
    while isinstance(c.read(), Push):
        n += 1
    return n


def run(port):
    other, watcher = Connection(port), Connection(port)
    other.all("SET key zero", "SELECT 1", "SET key one")
    (reader, before), (broadcast, _) = track(port, ""), track(port, "BCAST")
    watcher("WATCH key")
    other("SWAPDB 0 1")
    swapped, everything = pushes(reader), pushes(broadcast)
    executed = watcher.all("MULTI", "PING", "EXEC")[2]
    now = Connection(port)("GET key")
    other.all("SELECT 2", "FLUSHDB")
    return (f"the key was {before!r}, now is {now!r}; pushes after SWAPDB: {swapped}, with BCAST: {everything}; "
            f"EXEC after WATCH: {executed}; pushes after FLUSHDB: {pushes(reader)}")


want = ("the key was 'zero', now is 'one'; pushes after SWAPDB: 0, with BCAST: 0; "
        "EXEC after WATCH: None; pushes after FLUSHDB: 1")
for name, port in ("redis-8.10", 17931), ("valkey-9.1", 17932):
    got = run(port)
    print(f"{name}: {got}")
    if got != want:
        expect(name, want, got)
finish()
EOF
