#!/bin/sh
# pottery 3.0.1 with redis-py 8.1.0; redis-server.
#
# Its containers are "compatible with" those of Python, but some methods do something else, without an error. update and
# subtract of a RedisCounter count what is already there twice, unless they get a mapping: four update("a") give 15.
# rotate of a RedisDeque by more than its length drops elements, or does nothing. RedisList.insert(-1, v) inserts before
# the first element, and the assignment to an empty slice adds nothing.
#
# Output seen:
#   Counter, four update("a"), then subtract("a"): python 4 3, pottery 15 29
#   Counter, four update({"a": 1}): python 4, pottery 4
#   setdefault("b", 3) of a counter: python 3, pottery 0
#   deque of 1 to 4, rotate(-5): python [2, 3, 4, 1], pottery [2, 3, 4]
#   deque of 1 to 4, rotate(5): python [4, 1, 2, 3], pottery [1, 2, 3, 4]
#   list of 1 to 4, insert(-1, 9): python [1, 2, 3, 9, 4], pottery [9, 1, 2, 3, 4]
#   list of 1 to 4, l[1:1] = [7, 8]: python [1, 7, 8, 2, 3, 4], pottery [1, 2, 3, 4]
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip pottery==3.0.1 redis==8.1.0
redis 17931
python3 -W ignore - <<'END'
from collections import Counter, deque

from pottery import RedisCounter, RedisDeque, RedisList
from redis import Redis
from resp import expect, finish

redis = Redis(port=17931)


def compare(what, python, pottery, run, want):
    """Run the same on a container of Python and on one of pottery."""
    redis.flushall()
    seen = [run(python()), run(pottery())]
    expect(what, want, f"python {seen[0]}, pottery {seen[1]}")


def strings(c):
    for _ in range(4):
        c.update("a")
    four = c["a"]
    c.subtract("a")
    return f"{four} {c['a']}"


def mappings(c):
    for _ in range(4):
        c.update({"a": 1})
    return c["a"]


def rotate(n):
    def run(d):
        d.rotate(n)
        return list(d)
    return run


def insert(l):
    l.insert(-1, 9)
    return list(l)


def assign(l):
    l[1:1] = [7, 8]
    return list(l)


def counter():
    return RedisCounter(redis=redis, key="counter")


def container(kind):
    return lambda: kind([1, 2, 3, 4], redis=redis, key="list")


compare('Counter, four update("a"), then subtract("a")', Counter, counter, strings, "python 4 3, pottery 15 29")
compare('Counter, four update({"a": 1})', Counter, counter, mappings, "python 4, pottery 4")
compare('setdefault("b", 3) of a counter', Counter, counter, lambda c: c.setdefault("b", 3), "python 3, pottery 0")
for what, python, pottery, run, want in (
    ("deque of 1 to 4, rotate(-5)", deque, RedisDeque, rotate(-5), "python [2, 3, 4, 1], pottery [2, 3, 4]"),
    ("deque of 1 to 4, rotate(5)", deque, RedisDeque, rotate(5), "python [4, 1, 2, 3], pottery [1, 2, 3, 4]"),
    ("list of 1 to 4, insert(-1, 9)", list, RedisList, insert, "python [1, 2, 3, 9, 4], pottery [9, 1, 2, 3, 4]"),
    ("list of 1 to 4, l[1:1] = [7, 8]", list, RedisList, assign, "python [1, 7, 8, 2, 3, 4], pottery [1, 2, 3, 4]"),
):
    compare(what, lambda: python([1, 2, 3, 4]), container(pottery), run, want)
finish()
END
