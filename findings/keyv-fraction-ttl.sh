#!/bin/sh
# keyv 5.6.0 with @keyv/redis 5.1.6, alone and in cache-manager 7.2.9; redis-server.
#
# A time to live that is no whole number of milliseconds, as random jitter makes it (ttl * (1 + Math.random() / 10)),
# stores nothing in Redis, because the server refuses PX 1500.5. But set of keyv returns true; set of cache-manager
# returns the value, with a "set" event that has no error; and wrap calls its function each time. Only the "error"
# event of the Keyv object reports it. In memory the same time to live works.
#
# Output seen:
#   memory, ttl 1500.5: keyv set true, get v; cache-manager set v, error undefined, get v; calls of wrap 1
#   redis, ttl 1500: keyv set true, get v; cache-manager set v, error undefined, get v; calls of wrap 1
#   redis, ttl 1500.5: keyv set true, get undefined; cache-manager set v, error undefined, get undefined; calls of wrap 3
#
# Wants redis-server, redis-cli, node with npm.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm keyv@5.6.0 @keyv/redis@5.1.6 cache-manager@7.2.9
redis 17931
cat >main.mjs <<'END'
import {expect} from './expect.mjs';
import KeyvRedis from '@keyv/redis';
import {createCache} from 'cache-manager';
import {Keyv} from 'keyv';

async function run(name, keyv, ttl, there, calls) {
	await keyv.clear();
	const set = await keyv.set('key', 'v', ttl);
	const got = `keyv set ${set}, get ${await keyv.get('key')}`;
	const cache = createCache({stores: [keyv]});
	let error = 'no event', ran = 0;
	cache.on('set', event => { error = event.error; });
	const value = await cache.set('other', 'v', ttl);
	const after = `cache-manager set ${value}, error ${error}, get ${await cache.get('other')}`;
	for (let i = 0; i < 3; i++) {
		await cache.wrap('wrapped', () => { ran++; return 1; }, ttl);
	}
	expect(`${name}, ttl ${ttl}`,
		`keyv set true, get ${there}; cache-manager set v, error undefined, get ${there}; calls of wrap ${calls}`,
		`${got}; ${after}; calls of wrap ${ran}`);
}

await run('memory', new Keyv(), 1500.5, 'v', 1);
const redis = new Keyv(new KeyvRedis('redis://127.0.0.1:17931'));
await run('redis', redis, 1500, 'v', 1);
await run('redis', redis, 1500.5, undefined, 3);
await redis.disconnect();
END
node main.mjs
