#!/bin/sh
# django-valkey 0.4.1 with Django 5.2.19 and valkey-py 6.2.0; redis-server.
#
# The cache returns a negative integer as a float, without an error, so it rounds a large one. incr and decr of such a
# value return floats, too. Positive integers come back unchanged. With Django's own backend for Redis, negative ones
# come back unchanged, too.
#
# Output seen:
#   django, get of 5, -5, -9007199254740993: '[5, -5, -9007199254740993]'
#   django, incr of -5, then get: '[-4, -4]'
#   django-valkey, get of 5, -5, -9007199254740993: '[5, -5.0, -9007199254740992.0]'
#   django-valkey, incr of -5, then get: '[-4.0, -4.0]'
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip Django==5.2.19 django-valkey==0.4.1 valkey==6.2.0 redis==8.1.0
redis 17931
python3 - <<'EOF'
import django
from django.conf import settings
from django.core.cache import caches
from resp import expect, finish

settings.configure(CACHES={
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:17931/0"},
    "valkey": {"BACKEND": "django_valkey.cache.ValkeyCache", "LOCATION": "valkey://127.0.0.1:17931/1"},
})
django.setup()
values = 5, -5, -9007199254740993
for name, cache, want, below in (
    ("django", caches["default"], [5, -5, -9007199254740993], [-4, -4]),
    ("django-valkey", caches["valkey"], [5, -5.0, -9007199254740992.0], [-4.0, -4.0]),
):
    got = []
    for value in values:
        cache.set("key", value)
        got.append(cache.get("key"))
    expect(f"{name}, get of {', '.join(map(str, values))}", repr(want), repr(got))
    cache.set("count", -5)
    expect(f"{name}, incr of -5, then get", repr(below), repr([cache.incr("count"), cache.get("count")]))
finish()
EOF
