package dial

import (
	"slices"
	"strings"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
)

// peers is what a Dialer knows about the other side before the handshake. A server accepts the
// whole handshake. A proxy may refuse RESP3, or close the connection when it gets a command that it
// does not know. Then the Dialer tries a lean handshake, which leaves out everything that is not
// necessary.
type peers struct {
	mu    sync.Mutex // guards the fields below
	first sock.Peer  // the kind of peer that the handshake tries first
	whole bool       // the other side has accepted a whole handshake before; if it closes the connection now, the handshake is not the reason
}

// adapted does the handshake in the form that the other side accepts. greet dials, and does the
// handshake for a kind of peer. It reports whether the argument of PING came back, even if the
// handshake fails.
func (p *peers) adapted(c *Config, greet func(as sock.Peer) (s *Socket, echoes bool, failure *errorx.Error)) (*Socket, *errorx.Error) {
	as, whole := p.known()
	s, echoes, failure := greet(as)
	if failure != nil && !as.RESP2 && c.Protocol == 3 && !c.Tracking && errs.Says(failure.Cause(), "NOPROTO") {
		as.RESP2 = true
		s, echoes, failure = greet(as)
	}
	switch {
	case failure == nil:
		p.learn(as, !as.Lean)
		return s, nil
	case as.Lean:
		p.learn(sock.Peer{}, false) // another server or proxy may have the address by now
		return nil, failure
	case whole || !wasClosed(failure):
		return nil, failure
	}
	lean := sock.Peer{Lean: true, Mute: !echoes && !c.Integrity, RESP2: as.RESP2 || c.Protocol == 3 && !echoes && !c.Tracking}
	s, _, failed := greet(lean)
	switch {
	case failed != nil && !wasClosed(failed):
		return nil, failed
	case failed != nil:
		return nil, errs.Like(failure, failure.Cause(), failure.Message()+c.leanest())
	}
	// The first handshake may have failed by accident, so try it once more.
	if other, _, failed := greet(as); failed == nil {
		_ = s.Close()
		s, lean = other, as
	}
	p.learn(lean, !lean.Lean)
	return s, nil
}

func (p *peers) known() (first sock.Peer, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first, p.whole
}

func (p *peers) learn(first sock.Peer, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first, p.whole = first, p.whole || whole
}

// wasClosed reports whether a handshake failed because the other side closed the connection.
func wasClosed(failure *errorx.Error) bool {
	return failure.IsOfType(ErrConnSetup) && errs.HungUp(failure)
}

// leanest returns the end of an error for a lean handshake that also failed. It names the options that
// have added requests to the handshake.
func (c *Config) leanest() string {
	text := ": the other side also closes the connection without CLIENT SETINFO (Opts.NoClientInfo) and names"
	var has []string
	for option, set := range map[string]bool{
		"DB": c.DB != 0, "Integrity": c.Integrity, "ReadOnly": c.ReadOnly, "Role": c.Role != RoleAny,
		"Password": c.Provider != nil || c.Credentials != Credentials{},
	} {
		if set {
			has = append(has, "Opts."+option)
		}
	}
	if len(has) == 0 {
		return text
	}
	slices.Sort(has)
	return text + "; a proxy may not know the commands for " + strings.Join(has, ", ")
}
