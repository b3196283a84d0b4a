package redisfailover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Member is one of the databases of a [Client].
type Member struct {
	// Name names the member in events and errors, and for [Client.SwitchTo]. Each member needs a different
	// name. Default "member 1" and so on.
	Name string
	// URL is the member's URL: see [redispipe.Open]. If the member can't be opened, for example because
	// no server answers, the client's Open succeeds with the other members, and opens this one later.
	URL string
	// Options are used with URL. Set hooks and retries in [Opts] instead.
	Options []redispipe.Option
	// Sender is the member, if URL is empty: a client, a connection, a cluster, or a cache of package
	// rediscache around one of them. The retries of a client are not used. If the Sender has hooks, requests
	// cost more; if it is not a Sender of this library, they also cost more, and it has no sessions. Each
	// member needs a different Sender. The Client owns it and closes it.
	Sender redis.Sender
	// Weight decides which member is preferred: the one with the greatest weight, or the first of
	// several with that weight.
	Weight int
}

// member is a database with its health.
type member struct {
	Member
	name string
	opts *Opts

	// seen is set if a request or a probe has succeeded since the last tick. While closely is set, each success
	// is counted. Otherwise only a sample is counted, because callers that all write to good slow each other down.
	seen, closely atomic.Bool
	good, bad     atomic.Uint64 // how many requests and probes have succeeded and failed
	failure       atomic.Pointer[error]
	probes        atomic.Uint64 // how many probes in a row have succeeded

	// Client.mu guards the fields below.
	opened redis.Sender // nil until the member is open
	sender redis.Sender // opened without its retries
	up     bool
	since  time.Time
	health health
}

// membersOf checks the given members, and returns them in the order of their weights, the greatest first.
func membersOf(given []Member, opts *Opts) ([]*member, error) {
	if len(given) == 0 {
		return nil, redis.Err(ErrMembers.New("no members"))
	}
	all := make([]*member, len(given))
	for i, of := range given {
		m := &member{Member: of, name: cmp.Or(of.Name, fmt.Sprintf("member %d", i+1)), opts: opts}
		switch {
		case (of.URL == "") == (of.Sender == nil):
			return nil, redis.Err(ErrMembers.New("%s needs a URL or a Sender, and not both", m.name))
		case of.Sender != nil && errs.IsNil(of.Sender):
			return nil, redis.Err(ErrMembers.New("the Sender of %s is a nil %T", m.name, of.Sender))
		}
		for _, earlier := range all[:i] {
			switch {
			case earlier.name == m.name:
				return nil, redis.Err(ErrMembers.New("two members have the name %q", m.name))
			case earlier.Sender != nil && of.Sender != nil && backend.Same(earlier.Sender, of.Sender):
				return nil, redis.Err(ErrMembers.New("%s and %s have the same Sender", earlier.name, m.name))
			}
		}
		all[i] = m
	}
	slices.SortStableFunc(all, func(a, b *member) int { return cmp.Compare(b.Weight, a.Weight) })
	return all, nil
}

// open opens the member.
func (m *member) open(ctx context.Context) (redis.Sender, error) {
	if m.Sender != nil {
		return m.Sender, nil
	}
	client, err := redispipe.Open(ctx, m.URL, m.Options...)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// mayWantSlot reports whether the member needs the slots of requests, or is not open yet.
func (m *member) mayWantSlot() bool {
	if m.opened == nil {
		return true
	}
	to := send.BackendOf[redis.Future](m.sender)
	return to != nil && to.WantsSlot()
}

// answered counts a success. sample is how many successes it stands for.
func (m *member) answered(sample uint64) {
	if !m.seen.Load() {
		m.seen.Store(true)
	}
	if m.closely.Load() {
		sample = 1
	}
	if sample > 0 {
		m.good.Add(sample)
	}
}

// note counts the result of a request. A success stands for sample successes.
func (m *member) note(res any, sample uint64) {
	switch signOf(res) {
	case signGood:
		m.answered(sample)
	case signBad:
		m.failed(redis.Err(res))
	}
}

func (m *member) failed(err error) {
	m.failure.Store(&err)
	m.bad.Add(1)
}

// probe calls Opts.Probe for the member, and counts the result.
func (m *member) probe(ctx context.Context, to redis.Sender) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.Patience/2)
	defer cancel()
	err := errors.New("the probe has panicked")
	answer, returned := lifetime.CallUserUntil(ctx, func() error { return m.opts.Probe(ctx, to) }, func(error) {}, func(any, []byte) {})
	switch {
	case returned:
		err = answer
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer to a probe: %w", ctx.Err())
	}
	if err != nil {
		m.probes.Store(0)
		m.failed(err)
		return
	}
	m.probes.Add(1)
	m.answered(1)
}

// judged finds out whether the member is up, and returns an event if that has changed. Client.mu is held.
func (m *member) judged(now time.Time, late bool) LogEvent {
	m.health.tick(now, m.counted(), late)
	m.closely.Store(m.health.isFailing())
	switch {
	case m.opened == nil:
		return nil
	case m.up && m.health.isDown(now, m.opts.Patience, m.opts.FailureRate):
		m.up, m.since = false, now
		m.probes.Store(0)
		return LogDown{Member: m.name, Error: m.lastFailure()}
	case !m.up && m.probes.Load() >= leastProbes && !m.health.isDown(now, m.opts.Patience, m.opts.FailureRate):
		m.up, m.since = true, now
		m.failure.Store(nil)
		return LogUp{Member: m.name}
	}
	return nil
}

// counted returns how many requests and probes have ended. If some have succeeded since the last tick, but
// none of the sample, it counts one success for them.
func (m *member) counted() count {
	good := m.good.Load()
	if m.seen.Swap(false) && good == m.health.last.good {
		good = m.good.Add(1)
	}
	return count{good, m.bad.Load()}
}

// lastFailure returns the error of the last failure, or nil.
func (m *member) lastFailure() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}
