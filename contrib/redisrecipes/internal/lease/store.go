// Package lease implements leases for the recipes that give a key to one owner at a time: the scripts that grant
// and end a lease, the context of an owner, and waiting for another owner.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

// ErrAnswer: a key holds something that no recipe has written.
var ErrAnswer = errors.New("redisrecipes: unexpected reply from the server")

// Client is a [redispipe.Client].
type Client interface {
	redis.Sender
	Subscriber() *redispubsub.Subscriber
}

// Usable reports whether a sender is not nil and, if it is a client, was opened with redispipe.Open.
func Usable(db redis.Sender) bool {
	client, is := db.(*redispipe.Client)
	return db != nil && (!is || client.Connection() != nil || client.Cluster() != nil)
}

// Store keeps leases in Redis. Each key is a hash. It holds the owner, the end of the lease by the clock of the
// server, and the token, or instead the value that the last owner has left. Each owner has a unique name, so
// running a script twice does no harm. A lease may have a queue, in the same hash: see [Store.Enter].
type Store struct {
	DB  Client
	TTL time.Duration // how long a lease lasts, and how long a place in its queue lasts
	// Keep is how long a key without an owner keeps its token.
	Keep time.Duration
}

// NewOwner returns the name of an owner.
func NewOwner() string { return rand.Text() }

// Grant is the answer to Acquire: Token, Value or Wait is set.
type Grant struct {
	Token int64         // the lease is granted
	Sent  time.Time     // when the request for Token was sent
	Value []byte        // an owner has left this value
	Wait  time.Duration // how long another owner still has the lease, unless it renews or releases it
}

// acquire grants a lease that is free, or that the owner already has. If there is a queue, a free lease goes to the
// first in it. An owner that does not get the lease may enter the queue.
var acquire = redis.NewScript(queue + `
local h = redis.call('HMGET', KEYS[1], 'owner', 'until', 'token', 'value', 'next:')
if h[4] then return {2, h[4]} end
local owner, ends, token = h[1], tonumber(h[2] or 0), h[3]
if ends <= now then
	owner, ends, token = pass(h[5], h[3])
end
if owner and owner ~= ARGV[1] then
	if ARGV[4] == '1' then enter(ARGV[1], ARGV[2]) end
	return {0, ends - now}
end
token = token or newToken(h[3])
grant(ARGV[1], now + ARGV[2], token)
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000) + ARGV[3])
return {1, tonumber(token)}
`)

// renew prolongs a lease. It returns whether the owner has it.
var renew = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local h = redis.call('HMGET', KEYS[1], 'owner', 'until')
if h[1] ~= ARGV[1] or not h[2] or tonumber(h[2]) <= now then return 0 end
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000) + ARGV[3])
return 1
`)

// release ends a lease, passes it to the queue or wakes the waiting callers, and returns whether the owner had the lease.
// An expired lease still belongs to its owner until another owner gets it. If the
// caller is not the owner, it leaves the queue.
var release = redis.NewScript(queue + `
local h = redis.call('HMGET', KEYS[1], 'owner', 'token', 'next:')
if h[1] ~= ARGV[1] then
	leave(ARGV[1])
	return 0
end
redis.call('HDEL', KEYS[1], 'owner', 'until')
if not pass(h[3], h[2]) then redis.call('PUBLISH', KEYS[1], '') end
return 1
`)

// leave ends a lease as release does, and leaves a value. It keeps the owner's name, so that a repeated call
// succeeds.
var leave = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'value', ARGV[2])
redis.call('HDEL', KEYS[1], 'until')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', KEYS[1], '')
return 1
`)

// Acquire asks for a lease. It may be repeated. If the answer arrives so late that half of the lease has passed,
// Acquire asks again; if that fails, it returns the late grant.
func (s *Store) Acquire(ctx context.Context, key, owner string) (grant Grant, err error) {
	return s.acquire(ctx, key, owner, 0)
}

// Enter is like Acquire, but an owner that does not get the lease takes the last place in the queue of the key. The owner
// keeps its place for TTL after its last call of Enter, or until Release. If the queue gives it the lease, its [Place]
// gets a message.
func (s *Store) Enter(ctx context.Context, key, owner string) (Grant, error) {
	return s.acquire(ctx, key, owner, 1)
}

func (s *Store) acquire(ctx context.Context, key, owner string, enter int) (grant Grant, err error) {
	for {
		sent, late := time.Now(), grant
		grant, err = s.ask(ctx, key, owner, enter)
		if err != nil && late.Token != 0 {
			return late, nil
		}
		if err != nil || grant.Token == 0 {
			return grant, err
		}
		grant.Sent = sent
		if time.Since(sent) < s.TTL/2 || ctx.Err() != nil {
			return grant, nil
		}
	}
}

func (s *Store) ask(ctx context.Context, key, owner string, enter int) (Grant, error) {
	var answer []any
	if err := acquire.DoInto(ctx, s.DB, &answer, []string{key}, owner, s.TTL.Microseconds(), s.Keep.Milliseconds(), enter); err != nil {
		return Grant{}, err
	}
	if len(answer) == 2 {
		n, _ := answer[1].(int64)
		value, isValue := answer[1].([]byte)
		switch {
		case answer[0] == int64(0) && n > 0:
			return Grant{Wait: time.Duration(n) * time.Microsecond}, nil
		case answer[0] == int64(1) && n > 0:
			return Grant{Token: n}, nil
		case answer[0] == int64(2) && isValue:
			return Grant{Value: value}, nil
		}
	}
	return Grant{}, ErrAnswer
}

// Renew prolongs a lease. It reports whether the owner has it.
func (s *Store) Renew(ctx context.Context, key, owner string) (bool, error) {
	return redis.As[bool](renew.Do(ctx, s.DB, []string{key}, owner, s.TTL.Microseconds(), s.Keep.Milliseconds()))
}

// Release ends a lease, and reports whether the owner had it: see [Finish].
func (s *Store) Release(ctx context.Context, key, owner string) (had bool, err error) {
	return Finish(ctx, s.TTL, s.DB, release, []string{key}, owner)
}

// Leave ends a lease and leaves a value for ttl. It reports whether it has left the value. It repeats its request
// until the outcome is known or ctx is done.
func (s *Store) Leave(ctx context.Context, key, owner string, value []byte, ttl time.Duration) (left bool, err error) {
	return Settle(ctx, func(ctx context.Context) (bool, error) {
		return redis.As[bool](leave.Do(ctx, s.DB, []string{key}, owner, value, ttl.Milliseconds()))
	})
}

// Abandon releases a lease that the owner may have: see the function Abandon.
func (s *Store) Abandon(ctx context.Context, key, owner string) {
	Abandon(ctx, s.TTL, s.DB, release, []string{key}, owner)
}
