package redis

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// WithScripts returns a Sender that sends through s and knows these scripts. It accepts their
// requests ([Script.Request]) singly, in batches and in transactions. The caller never sees
// NOSCRIPT.
//
// In a transaction the first request of each script has the body, and the later ones have the hash.
// The same holds for a batch, until a server is known to have the script. If a request of a batch
// gets NOSCRIPT because the script was flushed, the request is sent again after the body was
// answered. Then it runs after other requests of its batch. The requests that got NOSCRIPT keep
// their order among themselves. If the order matters, use a transaction.
func WithScripts(s Sender, scripts ...*Script) Sender {
	own := slices.DeleteFunc(slices.Clone(scripts), func(script *Script) bool { return script == nil })
	return outside(known(s), func(inner Sender) Sender { return &scriptSender{inner, own} })
}

// scriptSender is the Sender that WithScripts returns.
type scriptSender struct {
	Sender
	scripts []*Script
}

// Send implements Sender.
func (p *scriptSender) Send(r Request, cb Future, n uint64) {
	if s := p.find(r); s != nil {
		cb, n = p.call(s, r, cb, n), 0
	}
	p.Sender.Send(r, cb, n)
}

// SendMany implements Sender.
func (p *scriptSender) SendMany(reqs []Request, cb Future, start uint64) {
	m := p.batch(reqs, cb, start, false)
	if m == nil {
		p.Sender.SendMany(reqs, cb, start)
		return
	}
	p.Sender.SendMany(m.reqs, m, 0)
}

// SendTransaction implements Sender.
func (p *scriptSender) SendTransaction(reqs []Request, cb Future, start uint64) {
	m := p.batch(reqs, cb, start, true)
	if m == nil {
		p.Sender.SendTransaction(reqs, cb, start)
		return
	}
	p.Sender.SendTransaction(m.reqs, scriptTransaction{m}, start)
}

// batch returns the future of a batch, or nil if no request of it runs a script. The first request
// of each script sends the body, unless a server has the script and always is false.
func (p *scriptSender) batch(reqs []Request, cb Future, start uint64, always bool) *scriptBatch {
	m := &scriptBatch{Forward: send.Forward{To: cb}, start: start}
	var seen map[*Script]bool
	for i, r := range reqs {
		s := p.find(r)
		if s == nil {
			continue
		}
		if seen == nil {
			m.calls, m.reqs = make([]*scriptCall, len(reqs)), slices.Clone(reqs)
			seen = map[*Script]bool{}
		}
		c := p.call(s, r, cb, start+uint64(i))
		if !seen[s] && (always || !s.loaded.Load()) {
			m.reqs[i] = c.body(r.Args)
		}
		m.calls[i], seen[s] = c, true
	}
	if seen == nil {
		return nil
	}
	return m
}

// call returns the future of a request that runs a script.
func (p *scriptSender) call(s *Script, r Request, cb Future, n uint64) *scriptCall {
	return &scriptCall{script: s, to: p.Sender, args: values.CloneArgs(r.Args), Forward: send.Forward{To: cb}, n: n}
}

// EachShard implements Sender.
func (p *scriptSender) EachShard(f func(Sender, error) bool) {
	eachShard(p.Sender, func(shard Sender) Sender { return &scriptSender{shard, p.scripts} }, f)
}

// find returns the script that the request runs, or nil.
func (p *scriptSender) find(r Request) *Script {
	if len(r.Args) < 2 {
		return nil
	}
	text, _ := r.Args[0].(string)
	for _, s := range p.scripts {
		switch r.Cmd {
		case s.byHash:
			if text == s.knownHash() {
				return s
			}
		case s.byBody:
			if text == s.src && s.knownHash() == "" {
				s.ask(p.Sender)
			}
		}
	}
	return nil
}

// scriptBatch is the future of a batch with scripts.
type scriptBatch struct {
	send.Forward
	start uint64
	reqs  []Request
	calls []*scriptCall // by index; nil for other requests
}

// Resolve implements Future.
func (m *scriptBatch) Resolve(res any, n uint64) {
	if c := m.calls[n]; c != nil {
		c.Resolve(res, 0)
		return
	}
	send.Resolve(m.To, res, m.start+n)
}

// scriptTransaction is the future of a transaction that contains scripts.
type scriptTransaction struct{ *scriptBatch }

// Resolve implements Future. If the server refused a script's body, the script was not loaded, and
// later requests for it get NOSCRIPT. Resolve gives them the error of the body instead.
func (m scriptTransaction) Resolve(res any, n uint64) {
	if results, ok := res.([]any); ok && len(results) == len(m.calls) {
		refused := map[*Script]any{}
		for i, c := range m.calls {
			if c == nil || errs.Of(results[i]) == nil {
				continue
			}
			if first, ok := refused[c.script]; !ok {
				refused[c.script] = results[i]
			} else if noScript(results[i]) != nil {
				results[i] = first
			}
		}
	}
	send.Resolve(m.To, res, n)
}

// maxScriptRounds is how often a call waits for another call's body and gets NOSCRIPT again. After
// that it sends the body itself, which can't get NOSCRIPT. Each such wait takes two round trips.
// More waits are needed only if the script is flushed every few milliseconds.
const maxScriptRounds = 3

// scriptCall is the future of a request that runs a script by its hash. If it is cancelled while
// other calls wait for its body, these are sent again, and one of them sends the body.
type scriptCall struct {
	send.Forward
	script   *Script
	to       Sender
	args     []any // the arguments of the request: see values.CloneArgs
	n        uint64
	attempts errs.Attempts
	rounds   int
	bodied   bool // the body was sent
	// leads is set if other calls wait until this call's body is on node.
	leads bool
	node  string
	ended atomic.Bool
}

// send sends the call once more. If the sender panics or ends the goroutine, it is unknown what was
// sent, and whether the sender will resolve the call, so send resolves it.
func (c *scriptCall) send(r Request) {
	sent := false
	defer func() {
		if !sent {
			c.end(errs.ErrIO.New("the sender has panicked or ended its goroutine: the script may have run"))
		}
	}()
	c.to.Send(r, c, 0)
	sent = true
}

// end resolves the call, unless it is already resolved.
func (c *scriptCall) end(res any) {
	if !c.ended.Swap(true) {
		send.Resolve(c.To, res, c.n)
	}
}

// body returns the request that runs the script by its body. args are the original arguments; in
// c.args, arguments that can't be sent are nil.
func (c *scriptCall) body(args []any) Request {
	c.bodied = true
	return Request{Cmd: c.script.byBody, Args: append([]any{c.script.src}, args[1:]...)}
}

// Resolve implements Future.
func (c *scriptCall) Resolve(res any, _ uint64) {
	if missed := noScript(res); missed != nil && !c.bodied {
		c.attempts.Failed(missed)
		c.missed(errs.AddressOf(missed))
		return
	}
	if err := errs.AsErrorx(res); err != nil {
		res = c.attempts.Result(err)
	}
	if errs.Of(res) == nil && !c.script.loaded.Load() {
		c.script.loaded.Store(true)
	}
	defer c.end(res) // even if the futures of waiting calls panic
	if c.leads {
		c.release()
	}
}

// missed is called when a node has replied NOSCRIPT. The call sends the body, or waits for the body
// that another call has sent.
func (c *scriptCall) missed(node string) {
	s := c.script
	s.loaded.Store(false)
	if c.rounds++; c.rounds > maxScriptRounds {
		s.ask(c.to) // this server may compute another hash
		c.send(c.body(c.args))
		return
	}
	s.mu.Lock()
	waiting, others := s.bursts[node]
	if others {
		s.bursts[node] = append(waiting, c)
	} else {
		s.bursts[node] = nil
		c.leads, c.node = true, node
	}
	s.mu.Unlock()
	if others {
		return
	}
	sent := false
	defer func() {
		if !sent { // the sender has panicked or ended the goroutine
			c.release()
		}
	}()
	c.send(c.body(c.args))
	sent = true
}

// release sends the calls that have waited for this call's body.
func (c *scriptCall) release() {
	s := c.script
	s.mu.Lock()
	waiting := s.bursts[c.node]
	delete(s.bursts, c.node)
	s.mu.Unlock()
	send.Each(0, len(waiting), func(i int) {
		w := waiting[i]
		w.send(Request{Cmd: s.byHash, Args: w.args})
	})
}

// afterMiss is a sender for a call that got NOSCRIPT.
type afterMiss struct {
	Sender
	script *Script
	missed *errorx.Error
}

// Send implements Sender.
func (p afterMiss) Send(r Request, cb Future, n uint64) {
	c := &scriptCall{script: p.script, to: p.Sender, args: r.Args, Forward: send.Forward{To: cb}, n: n}
	c.attempts.Failed(p.missed)
	c.missed(errs.AddressOf(p.missed))
}

// noScript returns res if it is a server's answer that the server lacks a script. A script that has
// run may return its own NOSCRIPT error, but an error that a script raises ends with the script's
// name.
func noScript(res any) *errorx.Error {
	if err := errs.AsErrorx(res); errs.Says(err, "NOSCRIPT No matching script") && !strings.Contains(err.Message(), " script: ") {
		return err
	}
	return nil
}
