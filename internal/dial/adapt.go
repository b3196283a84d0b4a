package dial

import (
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
)

// peers is what a Dialer knows of the other side before it greets it. A server takes the whole
// handshake. A proxy may refuse RESP3, or close the connection at a command that it does not know:
// then the Dialer greets it once more, without.
type peers struct {
	mu    sync.Mutex // guards the rest
	first sock.Peer  // the kind of peer that the handshake tries first
	whole bool       // it has taken a whole handshake: if it closes the connection, that has another reason
}

// adapted greets the other side as it takes it. greet dials, greets it as a peer, and reports
// whether PING's argument has come back, even if the handshake fails.
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
		p.learn(sock.Peer{}, false) // another one may be there by now
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
	// Is it the other side's way, or did it happen once?
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
	if !failure.IsOfType(ErrConnSetup) {
		return false
	}
	for _, why := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errs.CausedBy(failure, why) {
			return true
		}
	}
	return false
}

// leanest says without what the connection was closed as well, and what a lean handshake still had.
func (c *Config) leanest() string {
	text := ": it is closed without CLIENT SETINFO (Opts.NoClientInfo) and names, too"
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
	return text + "; a proxy may not know what is sent because of " + strings.Join(has, ", ")
}
