package dial

import (
	"cmp"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Step is a request of the handshake, with a function that checks the answer.
type Step struct {
	Request redis.Request
	Check   func(res any) *errorx.Error
}

// steps lists the requests of the handshake on s, in order. A lean peer gets only the requests that the
// connection can't do without.
func (d *Dialer) steps(s *Socket, o opening) []Step {
	c := &d.Config
	var list []Step
	add := func(check func(any) *errorx.Error, req redis.Request) { list = append(list, Step{req, check}) }
	cr := s.Credentials
	auth, needed := Auth(cr)
	resp3 := c.Protocol == 3 && !s.Peer.RESP2
	switch {
	case resp3 && needed:
		add(checkHello, redis.Req("HELLO", 3, "AUTH", cmp.Or(cr.Username, "default"), cr.Password))
	case resp3:
		add(checkHello, redis.Req("HELLO", 3))
	case needed:
		add(JudgeAuth, auth)
	}
	if c.DB != 0 {
		add(c.checkSelect, redis.Req("SELECT", c.DB))
	}
	if c.ReadOnly {
		add(saysOK("READONLY", ErrInit), redis.Req("READONLY"))
	}
	if c.Role != RoleAny {
		add(c.checkRole, redis.Req("ROLE"))
	}
	if members := c.members(); len(members) > 0 {
		add(checkMember(members), redis.Req("CLUSTER MYID"))
	}
	nonce := sock.NewNonce()
	add(s.checkPing(&nonce, c.Integrity, o.pings), s.Peer.Ping(&nonce))
	if c.Tracking {
		add(saysOK("CLIENT TRACKING", ErrInit), redis.Req("CLIENT TRACKING", "ON"))
	}
	if s.Peer.Lean {
		return list
	}
	// Names come last, so that an error that stops all requests is found first.
	if c.ClientName != "" {
		add(checkName, redis.Req("CLIENT SETNAME", c.ClientName))
	}
	if !c.NoClientInfo {
		add(checkName, redis.Req("CLIENT SETINFO", "LIB-NAME", libName))
		add(checkName, redis.Req("CLIENT SETINFO", "LIB-VER", libVersion()))
	}
	if c.Role == RoleMaster && !d.staysPut.Load() {
		add(d.checkCapa, redis.Req("CLIENT CAPA", "redirect"))
	}
	if o.hears && resp3 && !d.moved.unannounced.Load() {
		add(d.checkAnnounced, d.announce(s))
	}
	return append(list, o.more...)
}

// members returns the IDs of which the server must have one, or none if any server is accepted.
func (c *Config) members() map[string]bool {
	if c.Members == nil {
		return nil
	}
	return c.Members()
}

const (
	// libName is the name of the library that servers show in CLIENT LIST.
	libName    = "redispipe"
	modulePath = "github.com/joomcode/redispipe"
)

// libVersion returns the version of this module in the program, such as 1.2.3. Without a version it
// returns "(devel)".
var libVersion = sync.OnceValue(func() string {
	version := "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modulePath && ValidName(module.Version) && module.Version != "" {
			version = strings.TrimPrefix(module.Version, "v")
		}
	}
	return version
})

// ValidName reports whether servers accept name as the name of a client.
func ValidName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' })
}
