#!/bin/sh
# redis-cli 7.0.15 (and 8.10.2, and valkey-cli 8.1.8).
#
# With --json the output is not always JSON. An infinite score is printed as inf. An error is printed as error:"…",
# also in a list; it goes to the standard output, and the exit status is 0. With --csv, a quotation mark in a value
# becomes \", where readers of CSV expect "": they take it for the end of the value.
#
# Output seen:
#   --json, a score of 1: '1, JSON'
#   --json, a score of inf: 'inf, not JSON'
#   --json, members with scores: '[["a",1],["b",inf]], not JSON'
#   --json, an error: 'error:"WRONGTYPE Operation against a key holding the wrong kind of value", not JSON'
#   --json, an error in a list: '[1,error:"ERR x"], not JSON'
#   --csv: '"say \\"hi\\", Ann", read as [\'say \\\\hi\\\\"\', \' Ann"\']'
#
# Wants redis-server, redis-cli, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
python3 - <<'END'
import csv
import json
import subprocess
from resp import Connection, expect, finish


def cli(*words):
    done = subprocess.run(["redis-cli", "-p", "17931", *words], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def kind(text):
    try:
        json.loads(text)
        return "JSON"
    except ValueError:
        return "not JSON"


c = Connection(17931)
c("ZADD zset 1 a")
c("SET", "quoted", 'say "hi", Ann')
for name, command, want in (
    ("a score of 1", ["ZSCORE", "zset", "a"], "1, JSON"),
    ("a score of inf", ["ZADD", "zset", "INCR", "inf", "b"], "inf, not JSON"),
    ("members with scores", ["ZRANGE", "zset", "0", "-1", "WITHSCORES"], '[["a",1],["b",inf]], not JSON'),
    ("an error", ["INCR", "zset"], 'error:"WRONGTYPE Operation against a key holding the wrong kind of value", not JSON'),
    ("an error in a list", ["EVAL", "return {1, {err='ERR x'}}", "0"], '[1,error:"ERR x"], not JSON'),
):
    got = cli("--json", *command)
    expect(f"--json, {name}", want, f"{got}, {kind(got)}")
got = cli("--csv", "GET", "quoted")
expect("--csv", r'"say \"hi\", Ann", read as ' + repr(["say \\hi\\\"", ' Ann"']), f"{got}, read as {next(csv.reader([got]))}")
finish()
END
