#!/bin/sh
# redis 6.3.1 of npm (node-redis), beside ioredis 5.11.1; redis-server.
#
# commandOptions of node-redis has a timeout, "for the command in milliseconds", and an abortSignal. Both end with the
# write of the command, which follows at once if the client is connected; after that a call waits for its reply, however
# long that takes. (The pull request that added timeout, 3008, says so; the types and the README do not.) commandTimeout
# of ioredis ends the wait, but not the command: of a BLPOP the next element is lost.
#
# Output seen:
#   node-redis, GET of a paused server, timeout 100: null, after 0.9 s or more
#   node-redis, the same for all commands of the client: null, after 0.9 s or more
#   node-redis, GET of a paused server, abortSignal after 100 ms: null, after 0.9 s or more
#   ioredis, GET of a paused server, commandTimeout 100: Command timed out, before
#   node-redis, BLPOP of 1 s, timeout 100: null, after 0.9 s or more, then RPUSH and LLEN: 1, 1
#   ioredis, BLPOP of 1 s, commandTimeout 100: Command timed out, before, then RPUSH and LLEN: 1, 0
#
# Wants redis-server, redis-cli, node with npm.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
npm redis@6.3.1 ioredis@5.11.1
redis 17931
cat >main.mjs <<'END'
import {expect} from './expect.mjs';
import {setTimeout} from 'node:timers/promises';
import Redis from 'ioredis';
import {createClient} from 'redis';

const url = 'redis://127.0.0.1:17931', other = new Redis(url);
const client = await createClient({url}).connect();
const all = await createClient({url, commandOptions: {timeout: 100}}).connect();
const ioredis = new Redis(url, {commandTimeout: 100});
await ioredis.ping();

async function run(command) {
	const start = Date.now();
	const result = await command().catch(error => error.message);
	return `${result}, ${Date.now() - start >= 900 ? 'after 0.9 s or more' : 'before'}`;
}

async function paused(what, want, get) {
	await other.client('PAUSE', 1000);
	expect(what, want, await run(get));
	await other.client('UNPAUSE');
}

async function popped(what, want, pop) {
	const result = await run(pop);
	const pushed = await other.rpush('queue', 'element');
	await setTimeout(300);
	expect(what, want, `${result}, then RPUSH and LLEN: ${pushed}, ${await other.llen('queue')}`);
	await other.del('queue');
}

const never = 'null, after 0.9 s or more', once = 'Command timed out, before';
await paused('node-redis, GET of a paused server, timeout 100', never, () => client.withCommandOptions({timeout: 100}).get('key'));
await paused('node-redis, the same for all commands of the client', never, () => all.get('key'));
await paused('node-redis, GET of a paused server, abortSignal after 100 ms', never,
	() => client.withAbortSignal(AbortSignal.timeout(100)).get('key'));
await paused('ioredis, GET of a paused server, commandTimeout 100', once, () => ioredis.get('key'));
await popped('node-redis, BLPOP of 1 s, timeout 100', `${never}, then RPUSH and LLEN: 1, 1`,
	() => client.withCommandOptions({timeout: 100}).blPop('queue', 1));
await popped('ioredis, BLPOP of 1 s, commandTimeout 100', `${once}, then RPUSH and LLEN: 1, 0`, () => ioredis.blpop('queue', 1));
client.destroy();
all.destroy();
ioredis.disconnect();
other.disconnect();
END
node main.mjs
