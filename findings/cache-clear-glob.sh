#!/bin/sh
# keyv 5.6.0 with @keyv/redis 5.1.6 and redis 6.3.1 of npm; cachelib 0.17.0, the caches of Flask-Caching, with redis-py 8.1.0;
# redis-server.
#
# clear() of a cache with a namespace (keyv) or a key prefix (cachelib) takes it for a glob pattern. The cache
# "team[a]" keeps its own keys, and clears those of the cache "teama", without an error: clear() of cachelib
# returns True. set and get take the namespace as it is.
#
# Output seen:
#   keyv, team[a] before: mine
#   keyv, teama before: other
#   keyv, team[a] after its clear: mine
#   keyv, teama after it: undefined
#   cachelib, before: ['mine', 'other']
#   cachelib, clear: True
#   cachelib, after: ['mine', None]
#
# Wants redis-server, redis-cli, node with npm, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm keyv@5.6.0 @keyv/redis@5.1.6 redis@6.3.1
pip cachelib==0.17.0 redis==8.1.0
redis 17931
cat >main.mjs <<'END'
import {expect} from './expect.mjs';
import {createKeyv} from '@keyv/redis';
function cache(namespace) {
	return createKeyv('redis://127.0.0.1:17931', {namespace});
}
const own = cache('team[a]'), other = cache('teama');
await own.set('key', 'mine');
await other.set('key', 'other');
expect('keyv, team[a] before', 'mine', await own.get('key'));
expect('keyv, teama before', 'other', await other.get('key'));
await own.clear();
expect('keyv, team[a] after its clear', 'mine', await own.get('key'));
expect('keyv, teama after it', undefined, await other.get('key'));
await own.disconnect();
await other.disconnect();
END
node main.mjs
python3 - <<'EOF'
from cachelib import RedisCache
from resp import expect, finish

own, other = (RedisCache(port=17931, key_prefix=prefix) for prefix in ("team[a]", "teama"))
own.set("key", "mine")
other.set("key", "other")
expect("cachelib, before", ["mine", "other"], [own.get("key"), other.get("key")])
expect("cachelib, clear", True, own.clear())
expect("cachelib, after", ["mine", None], [own.get("key"), other.get("key")])
finish()
EOF
