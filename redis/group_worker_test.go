package redis_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// workerMinIdle is the MinIdle of the workers' readers.
const workerMinIdle = 2 * time.Second

// TestGroupWorker is a worker process of TestGroupSoak.
func TestGroupWorker(t *testing.T) {
	addr := os.Getenv("REDISPIPE_WORKER")
	if addr == "" {
		t.Skip("TestGroupSoak starts it")
	}
	o := redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute} // IOTimeout is long because the machine may stand still
	if os.Getenv("REDISPIPE_POLLS") != "" {
		o.DedicatedConns = -1
	}
	conn, err := redisconn.Connect(t.Context(), addr, o)
	require.NoError(t, err)
	log := redis.Sync{S: connectTo(t, addr)}
	name := os.Getenv("REDISPIPE_CONSUMER")
	note := func(what string) {
		require.NoError(t, redis.AsError(log.Do("RPUSH", "log", what+" "+name)))
	}
	r, err := redis.NewGroupReader(&journal{conn, name}, redis.GroupOpts{
		Stream: "jobs", Group: "workers", Consumer: name, Count: 10, MinIdle: workerMinIdle,
	})
	require.NoError(t, err)
	note("began")
	go func() { // ends with the process
		for {
			began := time.Now()
			time.Sleep(10 * time.Millisecond) // slows the worker down; nothing waits for this
			log.Do("PING")
			if time.Since(began) > workerMinIdle/8 {
				note("stalled")
			}
		}
	}()
	done := 0
	for msg, err := range r.Messages(context.Background()) {
		failure := redis.AsErrorx(err)
		switch {
		case failure == nil:
			note("work " + msg.ID)
			time.Sleep(rand.N(2 * time.Millisecond)) // stands for the work on the entry
			require.NoError(t, r.Ack(msg.ID))
			if done++; done%5 == 0 {
				require.NoError(t, r.Flush(t.Context()))
			}
		case failure.IsOfType(redis.ErrGroupEntryDeleted):
			note("deleted " + msg.ID)
		case failure.IsOfType(redis.ErrGroupDestroyed):
			note("destroyed")
		default:
			note("failed " + err.Error())
		}
	}
}

// journal is a Sender whose requests make the server log what happens to entries, in the same step:
// see groupJudge.
type journal struct {
	redis.Sender
	consumer string
}

func (s *journal) Send(r redis.Request, cb redis.Future, n uint64) {
	s.Sender.Send(s.logged(r), cb, n)
}

func (s *journal) SendTransaction(reqs []redis.Request, cb redis.Future, n uint64) {
	reqs = slices.Clone(reqs)
	for i, r := range reqs {
		reqs[i] = s.logged(r)
	}
	s.Sender.SendTransaction(reqs, cb, n)
}

// logged returns a script that runs a request and logs its effect.
func (s *journal) logged(r redis.Request) redis.Request {
	script, ok := journalScripts[r.Cmd]
	if !ok {
		return r
	}
	return redis.Req("EVAL", append([]any{script, 2, r.Args[0], "log", s.consumer}, r.Args[1:]...)...)
}

// journalScripts are scripts, by command. Their keys are the stream and the log; their arguments
// are the consumer and the arguments of the command.
var journalScripts = map[string]string{
	"XACK": `
local n = 0
for i = 3, #ARGV do
	local pending = redis.pcall('XPENDING', KEYS[1], ARGV[2], ARGV[i], ARGV[i], 1)
	if not pending.err and redis.call('XACK', KEYS[1], ARGV[2], ARGV[i]) == 1 then
		n = n + 1
		redis.call('RPUSH', KEYS[2], 'acked ' .. ARGV[i] .. ' ' .. ARGV[1] .. ' ' .. pending[1][2])
	end
end
return n`,
	"XAUTOCLAIM": `
local claimed = redis.pcall('XAUTOCLAIM', KEYS[1], unpack(ARGV, 2))
for _, id in ipairs(claimed[3] or {}) do
	redis.call('RPUSH', KEYS[2], 'taken ' .. id .. ' ' .. ARGV[1])
end
return claimed`,
	"XCLAIM": `
local claimed = redis.pcall('XCLAIM', KEYS[1], unpack(ARGV, 2))
local owned = {}
for _, id in ipairs(claimed) do
	owned[id] = true
end
for i = 5, #ARGV do
	if not claimed.err and ARGV[i] ~= 'JUSTID' and not owned[ARGV[i]] then
		redis.call('RPUSH', KEYS[2], 'taken ' .. ARGV[i] .. ' ' .. ARGV[1])
	end
end
return claimed`,
}
