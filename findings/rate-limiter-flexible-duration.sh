#!/bin/sh
# rate-limiter-flexible 11.4.0 with ioredis 5.11.1; redis-server.
#
# "duration" is the number of seconds before points are reset. With 0.5, RateLimiterMemory resets them after half a second.
# RateLimiterRedis never does: it rounds down, and 0 stands for "never". A client that was limited once stays
# limited for good, and its key in Redis has no time to live.
#
# Output seen:
#   memory, three of two points: granted, granted, refused, 0.7 s later: granted
#   Redis, three of two points: granted, granted, refused, 0.7 s later: refused
#   Redis, TTL of the key: -1
#
# Wants redis-server, redis-cli, node with npm, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm rate-limiter-flexible@11.4.0 ioredis@5.11.1
redis 17931
cat >main.mjs <<'END'
import {expect} from './expect.mjs';
import {setTimeout} from 'node:timers/promises';
import Redis from 'ioredis';
import {RateLimiterMemory, RateLimiterRedis} from 'rate-limiter-flexible';
async function run(limiter) {
	const take = () => limiter.consume('client').then(() => 'granted', () => 'refused');
	const first = `${await take()}, ${await take()}, ${await take()}`;
	await setTimeout(700);
	return `${first}, 0.7 s later: ${await take()}`;
}
const redis = new Redis(17931), opts = {points: 2, duration: 0.5};
expect('memory, three of two points', 'granted, granted, refused, 0.7 s later: granted', await run(new RateLimiterMemory(opts)));
const limiter = new RateLimiterRedis({...opts, storeClient: redis});
expect('Redis, three of two points', 'granted, granted, refused, 0.7 s later: refused', await run(limiter));
expect('Redis, TTL of the key', -1, await redis.ttl(limiter.getKey('client')));
redis.disconnect();
END
node main.mjs
