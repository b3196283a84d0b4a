#!/bin/sh
# django-redis 7.0.0 with Django 5.2.19 and redis-py 8.1.0; redis-server.
#
# Above 2^53, incr does not return the value that it stores, but the nearest float64, so two calls in a row may return
# the same number. The key holds the exact value, and get returns it. With Django's own backend for Redis, incr returns
# the exact value, too.
#
# Output seen:
#   django, incr of 2^53, minus 2^53: [1, 2, 3, 4], then get: 4
#   django-redis, incr of 2^53, minus 2^53: [0, 2, 4, 4], then get: 4
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip Django==5.2.19 django-redis==7.0.0 redis==8.1.0
redis 17931
python3 - <<'EOF'
import django
from django.conf import settings
from django.core.cache import caches
from resp import expect, finish

settings.configure(CACHES={
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:17931/0"},
    "other": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://127.0.0.1:17931/1"},
})
django.setup()
for name, cache, want in (
    ("django", caches["default"], "[1, 2, 3, 4], then get: 4"),
    ("django-redis", caches["other"], "[0, 2, 4, 4], then get: 4"),
):
    cache.set("count", 2**53)
    got = [cache.incr("count") - 2**53 for _ in range(4)]
    got = f"{got}, then get: {cache.get('count') - 2**53}"
    print(f"{name}, incr of 2^53, minus 2^53: {got}")
    if got != want:
        expect(name, want, got)
finish()
EOF
