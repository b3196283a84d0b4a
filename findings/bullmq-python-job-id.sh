#!/bin/sh
# BullMQ 3.4.4 of PyPI with redis-py 8.1.0, beside BullMQ 6.7.0 of npm with ioredis 5.11.1; redis-server.
#
# Jobs get the IDs 1, 2, 3…, unless the producer names one. In Python it may name a number, as the ID of an order is
# one. The job whose turn comes to get the same number then overwrites the first: add returns no error, the data of the
# first is lost, and the second runs twice. Node refuses such an ID ("Custom Id cannot be integers").
#
# Output seen:
#   Python, add of "first" with the ID 2, then "second" and "third": IDs 2, 2, 3
#   Python, what the worker gets: second, second, third
#   Node, add with the ID 2: Custom Id cannot be integers
#
# Wants redis-server, redis-cli, node with npm, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip bullmq==3.4.4 redis==8.1.0 python-dateutil==2.9.0.post0
npm bullmq@6.7.0 ioredis@5.11.1
redis 17931
python3 - <<'END'
import asyncio

from bullmq import Queue, Worker
from resp import expect, finish

connection = {"connection": "redis://127.0.0.1:17931"}


async def main():
    queue, got, done = Queue("orders", connection), [], asyncio.Event()
    options = {"first": {"jobId": "2"}, "second": {}, "third": {}}
    ids = [(await queue.add("order", data, opts)).id for data, opts in options.items()]
    expect('Python, add of "first" with the ID 2, then "second" and "third"', "IDs 2, 2, 3", "IDs " + ", ".join(ids))

    async def process(job, token):
        got.append(job.data)
        if len(got) == 3:
            done.set()

    worker = Worker("orders", process, connection)
    await done.wait()
    expect("Python, what the worker gets", "second, second, third", ", ".join(got))
    await worker.close()
    await queue.close()


asyncio.run(asyncio.wait_for(main(), 60))
finish()
END
cat >main.mjs <<'END'
import {expect} from './expect.mjs';
import {Queue} from 'bullmq';
const queue = new Queue('others', {connection: {port: 17931}});
const answer = await queue.add('order', 'first', {jobId: '2'}).then(job => job.id, error => error.message);
expect('Node, add with the ID 2', 'Custom Id cannot be integers', answer);
await queue.close();
END
node main.mjs
