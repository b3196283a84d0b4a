#!/bin/sh
# ioredis-mock 8.13.1 beside ioredis 5.11.1 with redis-server.
#
# It takes options and ignores them: EXPIRE with NX or GT shortens a time to live and returns 1, and SET with KEEPTTL drops
# it. EXPIRE and SET are among the commands that it says it supports. INCR of a value that is no number returns NaN
# without an error. So a test passes where the server would change nothing, or return an error.
#
# Output seen:
#   Redis: EXPIRE NX 0, EXPIRE GT 0, TTL 100, TTL after SET KEEPTTL 100, INCR of a word: ReplyError
#   ioredis-mock: EXPIRE NX 1, EXPIRE GT 1, TTL 50, TTL after SET KEEPTTL -1, INCR of a word: NaN
#
# Wants redis-server, redis-cli, node with npm, python3.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm ioredis-mock@8.13.1 ioredis@5.11.1
redis 17931
cat >main.mjs <<'END'
import Redis from 'ioredis';
import Mock from 'ioredis-mock';
import {expect} from './expect.mjs';

for (const [name, db, want] of [
	['Redis', new Redis(17931), 'EXPIRE NX 0, EXPIRE GT 0, TTL 100, TTL after SET KEEPTTL 100, INCR of a word: ReplyError'],
	['ioredis-mock', new Mock(), 'EXPIRE NX 1, EXPIRE GT 1, TTL 50, TTL after SET KEEPTTL -1, INCR of a word: NaN'],
]) {
	await db.set('key', 'value', 'EX', 100);
	const nx = await db.expire('key', 50, 'NX'), gt = await db.expire('key', 50, 'GT'), ttl = await db.ttl('key');
	await db.set('key', 'value', 'EX', 100);
	await db.set('key', 'other', 'KEEPTTL');
	const kept = await db.ttl('key');
	const incremented = await db.incr('key').catch(error => error.name);
	expect(name, want, `EXPIRE NX ${nx}, EXPIRE GT ${gt}, TTL ${ttl}, TTL after SET KEEPTTL ${kept}, INCR of a word: ${incremented}`);
	db.disconnect();
}
END
node main.mjs
