#!/bin/sh
# miniredis 2.40.0, beside redis-server.
#
# EXEC runs where Redis refuses, and the other way round. After a command that does not exist, it runs the others, and
# Redis answers EXECABORT. Of the changes of a watched key, FLUSHALL, SWAPDB and the new expiration of GETEX do not
# abort it. A command that changes nothing does: SADD of a member that is there, ZADD with the same score, LREM that
# finds nothing.
#
# Output seen:
#   Redis, MULTI, NOSUCH, INCR k, EXEC: EXECABORT
#   Redis, FLUSHALL, SWAPDB, GETEX EX: aborted, aborted, aborted
#   Redis, SADD, ZADD, LREM that change nothing: runs, runs, runs
#   miniredis, MULTI, NOSUCH, INCR k, EXEC: [1]
#   miniredis, FLUSHALL, SWAPDB, GETEX EX: runs, runs, runs
#   miniredis, SADD, ZADD, LREM that change nothing: aborted, aborted, aborted
#
# Wants go, redis-server and redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
miniredis 17932
python3 - <<'END'
from resp import Connection, Error, expect, finish


def exec_after(c, before, change):
    """Tell whether a transaction runs if the watched key k is changed so."""
    c.all("FLUSHALL", before, "WATCH k", change, "MULTI", "PING")
    return "aborted" if c("EXEC") is None else "runs"


for name, port, unknown, changed, unchanged in (
    ("Redis", 17931, "EXECABORT", "aborted, aborted, aborted", "runs, runs, runs"),
    ("miniredis", 17932, "[1]", "runs, runs, runs", "aborted, aborted, aborted"),
):
    c = Connection(port)
    c.all("FLUSHALL", "MULTI", "NOSUCH", "INCR k")
    result = c("EXEC")
    expect(f"{name}, MULTI, NOSUCH, INCR k, EXEC", unknown, result.split()[0] if isinstance(result, Error) else str(result))
    expect(f"{name}, FLUSHALL, SWAPDB, GETEX EX", changed, ", ".join(
        exec_after(c, "SET k v", change) for change in ("FLUSHALL", "SWAPDB 0 1", "GETEX k EX 9")))
    expect(f"{name}, SADD, ZADD, LREM that change nothing", unchanged, ", ".join(exec_after(c, before, change) for before, change in (
        ("SADD k a", "SADD k a"), ("ZADD k 1 a", "ZADD k 1 a"), ("RPUSH k a", "LREM k 0 b"))))
finish()
END
