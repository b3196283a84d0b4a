#!/bin/sh
# redis-py 8.1.0 with its defaults, alone and in huey 3.5.4; redis-server.
#
# A blocking command with a timeout of 5 s or more never returns None, and its timeout has no effect: after 5 s without
# a reply the client closes the connection (socket_timeout, which was None before 8.0) and sends the command again,
# 10 times. After a minute it raises TimeoutError. That takes as long for a timeout of 6 s as for one of 600 s or none.
# huey with notify_result, which makes its own pool, does not repeat: get(blocking=True, timeout=20) is over after 5 s.
#
# Output seen:
#   blpop(timeout=2): None, ends within 2 to 5 s
#   blpop(timeout=6): TimeoutError, ends within 50 to 70 s
#   blpop(timeout=0): TimeoutError, ends within 50 to 70 s
#   xread(block=6000): TimeoutError, ends within 50 to 70 s
#   blpop(timeout=6), socket_timeout=None: None, ends within 5 to 10 s
#   huey, get(blocking=True, timeout=20): ResultTimeout, ends within 5 to 10 s
#   XREAD that the server has got: 11
#
# Wants redis-server, redis-cli, python3 with pip. Takes a minute.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip redis==8.1.0 huey==3.5.4
redis 17931
cat >main.py <<'END'
import threading
import time

from huey import RedisHuey
from redis import Redis
from resp import expect, finish

ends = {}


def run(what, command):
    """Run the command in a thread."""
    def measure():
        start = time.monotonic()
        try:
            result = command()
        except Exception as error:
            result = type(error).__name__
        seconds = time.monotonic() - start
        ends[what] = next((f"{result}, ends within {low} to {high} s"
                           for low, high in ((2, 5), (5, 10), (50, 70)) if low <= seconds < high), f"{result}, {seconds} s")
    thread = threading.Thread(target=measure)
    thread.start()
    return thread


default, patient = Redis(port=17931), Redis(port=17931, socket_timeout=None)
huey = RedisHuey(port=17931, notify_result=True)
minute = "ends within 50 to 70 s"
cases = (
    ("blpop(timeout=2)", lambda: default.blpop("a", timeout=2), "None, ends within 2 to 5 s"),
    ("blpop(timeout=6)", lambda: default.blpop("b", timeout=6), f"TimeoutError, {minute}"),
    ("blpop(timeout=0)", lambda: default.blpop("c", timeout=0), f"TimeoutError, {minute}"),
    ("xread(block=6000)", lambda: default.xread({"d": "$"}, block=6000), f"TimeoutError, {minute}"),
    ("blpop(timeout=6), socket_timeout=None", lambda: patient.blpop("e", timeout=6), "None, ends within 5 to 10 s"),
    ("huey, get(blocking=True, timeout=20)", lambda: huey.result("id", blocking=True, timeout=20),
     "ResultTimeout, ends within 5 to 10 s"),
)
for thread in [run(what, command) for what, command, _ in cases]:
    thread.join()
for what, _, want in cases:
    expect(what, want, ends[what])
expect("XREAD that the server has got", 11, default.info("commandstats")["cmdstat_xread"]["calls"])
finish()
END
python3 main.py
