package redisconn

import (
	"cmp"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// step is a request of the handshake, with what its answer means.
type step struct {
	req   redis.Request
	check func(c *Connection, res any) *errorx.Error
}

// steps lists what is to be said to a new connection, in order.
func (c *Connection) steps(cr Credentials) []step {
	var list []step
	add := func(check func(*Connection, any) *errorx.Error, cmd string, args ...any) {
		list = append(list, step{redis.Req(cmd, args...), check})
	}
	o := &c.opts
	auth := cr.auth()
	switch {
	case o.Protocol == 3 && auth != nil:
		add(checkHello, "HELLO", 3, "AUTH", cmp.Or(cr.Username, "default"), cr.Password)
	case o.Protocol == 3:
		add(checkHello, "HELLO", 3)
	case auth != nil:
		add(checkAuth, "AUTH", auth...)
	}
	if o.DB != 0 {
		add(checkSelect, "SELECT", o.DB)
	}
	if o.ReadOnly {
		add(checkOK, "READONLY")
	}
	if o.Role != RoleAny {
		add(checkRole, "ROLE")
	}
	add(checkPing, "PING")
	// Names come last: what stands in the way of all requests shows before.
	if o.ClientName != "" {
		add(checkName, "CLIENT SETNAME", o.ClientName)
	}
	if !o.NoClientInfo {
		add(checkName, "CLIENT SETINFO", "LIB-NAME", libName)
		add(checkName, "CLIENT SETINFO", "LIB-VER", libVersion())
	}
	return list
}

// handshake greets the server: all requests at once, then all answers. It is bounded
// by closing the socket, and by DialTimeout. Errors do not show the socket's credentials.
func (c *Connection) handshake(s *socket, steps []step) *errorx.Error {
	_ = s.SetDeadline(time.Now().Add(c.opts.DialTimeout))
	var out []byte
	for _, step := range steps {
		var err error
		if out, err = redis.AppendRequest(out, step.req); err != nil {
			return ErrInit.Wrap(err, "handshake")
		}
	}
	began := time.Now()
	if _, err := s.Write(out); err != nil {
		return unwritten(s, err)
	}
	for _, step := range steps {
		res, err := s.Dec.Decode()
		if err != nil {
			return handshakeError(err)
		}
		if err := step.check(c, s.cr.redact(res)); err != nil {
			return err
		}
	}
	if s.Dec.Buffered() > 0 {
		return ErrInit.New("the server sent more than was asked for")
	}
	s.trip = time.Since(began)
	if err := s.SetDeadline(time.Time{}); err != nil {
		return ErrConnSetup.Wrap(err, "handshake")
	}
	return nil
}

// unwritten tells why the handshake could not be written. A server that refuses
// the client's certificate may have closed the connection by then; its alert is
// still there to be read.
func unwritten(s *socket, err error) *errorx.Error {
	if s.Secured() {
		if _, readErr := s.Conn.Read(make([]byte, 1)); isAlert(readErr) {
			return ErrTLS.Wrap(readErr, "TLS handshake")
		}
	}
	return ErrConnSetup.Wrap(err, "writing the handshake")
}

// handshakeError tells a broken connection from a server that is not a Redis.
func handshakeError(err error) *errorx.Error {
	if isAlert(err) {
		return ErrTLS.Wrap(err, "TLS handshake")
	}
	if errorx.IsOfType(err, redis.ErrIO) {
		return ErrConnSetup.Wrap(err, "reading the handshake")
	}
	return ErrInit.Wrap(err, "the server is not a Redis")
}

// refusedWith types an error that the server answered with: what passes by itself
// is ErrConnSetup, a want of authentication ErrAuth, the rest of type other.
func refusedWith(err *errorx.Error, other *errorx.Type) *errorx.Error {
	if err.HasTrait(redis.ErrTraitTransient) {
		return ErrConnSetup.Wrap(err, "handshake")
	}
	text := err.Message()
	if strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS") {
		return ErrAuth.Wrap(err, "handshake")
	}
	return other.Wrap(err, "handshake")
}

func checkAuth(_ *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refusedWith(err, ErrAuth)
	}
	return expect("AUTH", res, "OK")
}

func checkHello(_ *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refusedWith(err, ErrInit)
	}
	if _, ok := res.(map[string]any); !ok {
		return ErrInit.New("HELLO was answered with %T", res)
	}
	return nil
}

func checkSelect(c *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refusedWith(err, ErrInit).WithProperty(EKDb, c.opts.DB)
	}
	return expect("SELECT", res, "OK")
}

func checkOK(_ *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refusedWith(err, ErrInit)
	}
	return expect("READONLY", res, "OK")
}

// checkPing accepts a user that may not PING, and a server that answers it with
// the state of its disk: it has understood.
func checkPing(c *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		if c.opts.Integrity && strings.HasPrefix(err.Message(), "NOPERM") {
			return ErrInit.Wrap(err, "Opts.Integrity needs a user that may PING")
		}
		if strings.HasPrefix(err.Message(), "NOPERM") || strings.HasPrefix(err.Message(), "MISCONF") {
			return nil
		}
		return refusedWith(err, ErrInit)
	}
	return expect("PING", res, "PONG")
}

// checkName accepts any error: servers before 7.2 have no CLIENT SETINFO, and a user
// need not be allowed to give names.
func checkName(_ *Connection, res any) *errorx.Error {
	if redis.AsErrorx(res) != nil {
		return nil
	}
	return expect("CLIENT", res, "OK")
}

func expect(cmd string, res any, want string) *errorx.Error {
	if res != any(want) {
		return ErrInit.New("%s was answered with %T instead of %s", cmd, res, want)
	}
	return nil
}

// checkRole accepts a user that may not ask.
func checkRole(c *Connection, res any) *errorx.Error {
	role, err := ParseRole(res)
	switch failure := redis.AsErrorx(err); {
	case failure == nil && role == c.opts.Role:
		return nil
	case failure == nil:
		return ErrRole.New("the server is a %s, not a %s", role, c.opts.Role)
	case failure.IsOfType(redis.ErrResponseUnexpected):
		return ErrRole.Wrap(failure, "the server is not a %s", c.opts.Role)
	case strings.HasPrefix(failure.Message(), "NOPERM"):
		return nil
	default:
		return refusedWith(failure, ErrInit)
	}
}
