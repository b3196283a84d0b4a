#!/bin/sh
# rq 3.0.0 with redis-py 8.1.0; redis-server.
#
# ttl is "the maximum queued time (in seconds) of the job before it's discarded". But it counts from the enqueue call,
# also while the job is not queued: while it is scheduled, waits for another job, or waits for its next try. The job is
# gone then, without an error or an entry in the registry of failed jobs, and a job that depends on it stays deferred
# for good.
#
# Output seen:
#   enqueue_in 1 s: finished
#   enqueue_in 2 s, ttl 1 s: gone, 0 failed, a job that depends on it: deferred
#   depends_on a job of 2 s, ttl 1 s: gone, 0 failed
#   retry after 2 s, ttl 1 s, after the first try: scheduled, later: gone, 0 failed
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip rq==3.0.0 redis==8.1.0 python-dateutil==2.9.0.post0
redis 17931
cat >jobs.py <<'END'
import time


def nothing():
    pass


def slow():
    time.sleep(2)


def fail():
    raise ValueError
END
cat >main.py <<'END'
import time
from datetime import timedelta

import jobs
from redis import Redis
from resp import expect, finish
from rq import Queue, Retry, SimpleWorker
from rq.job import Job

db = Redis(port=17931)
queue = Queue(connection=db)


def work():
    """Run all that is due."""
    SimpleWorker([queue], connection=db).work(burst=True, with_scheduler=True, logging_level="CRITICAL")


def state(job):
    return job.get_status().value if Job.exists(job.id, db) else "gone"


def failed():
    return f"{len(queue.failed_job_registry)} failed"


job = queue.enqueue_in(timedelta(seconds=1), jobs.nothing)
time.sleep(1.2)
work()
expect("enqueue_in 1 s", "finished", state(job))

job = queue.enqueue_in(timedelta(seconds=2), jobs.nothing, ttl=1)
dependent = queue.enqueue(jobs.nothing, depends_on=job)
time.sleep(2.2)
work()
expect("enqueue_in 2 s, ttl 1 s", "gone, 0 failed, a job that depends on it: deferred",
       f"{state(job)}, {failed()}, a job that depends on it: {state(dependent)}")

job = queue.enqueue(jobs.nothing, depends_on=queue.enqueue(jobs.slow), ttl=1)
work()
expect("depends_on a job of 2 s, ttl 1 s", "gone, 0 failed", f"{state(job)}, {failed()}")

job = queue.enqueue(jobs.fail, ttl=1, retry=Retry(max=1, interval=2))
work()
first = state(job)
time.sleep(2.2)
work()
expect("retry after 2 s, ttl 1 s, after the first try", "scheduled, later: gone, 0 failed", f"{first}, later: {state(job)}, {failed()}")
finish()
END
PYTHONPATH="$PYTHONPATH:$dir" python3 main.py 2>>log
