package redisconn

import (
	"net"
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
func (c *Connection) steps() []step {
	var list []step
	add := func(check func(*Connection, any) *errorx.Error, cmd string, args ...any) {
		list = append(list, step{redis.Req(cmd, args...), check})
	}
	o := &c.opts
	auth := []any{o.Password}
	if o.Username != "" {
		auth = []any{o.Username, o.Password}
	}
	authenticate := o.Password != "" || o.Username != ""
	switch {
	case o.Protocol == 3 && authenticate:
		user := o.Username
		if user == "" {
			user = "default"
		}
		add(checkHello, "HELLO", 3, "AUTH", user, o.Password)
	case o.Protocol == 3:
		add(checkHello, "HELLO", 3)
	case authenticate:
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
	return list
}

// handshake greets the server: all requests at once, then all answers. It is bounded
// by whoever closes the socket, and by DialTimeout.
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
		return unwritten(s.Conn, err)
	}
	for _, step := range steps {
		res, err := s.dec.Decode()
		if err != nil {
			return handshakeError(err)
		}
		if err := step.check(c, c.withoutPassword(res)); err != nil {
			return err
		}
	}
	if s.dec.Buffered() > 0 {
		return ErrInit.New("the server sent more than was asked for")
	}
	c.measured(time.Since(began))
	if err := s.SetDeadline(time.Time{}); err != nil {
		return ErrConnSetup.Wrap(err, "handshake")
	}
	return nil
}

// withoutPassword takes the password out of an error that the server has put it
// into.
func (c *Connection) withoutPassword(res any) any {
	err := redis.AsErrorx(res)
	if err == nil || c.opts.Password == "" || !strings.Contains(err.Message(), c.opts.Password) {
		return res
	}
	return err.Type().New("%s", strings.ReplaceAll(err.Message(), c.opts.Password, "(hidden)"))
}

// unwritten tells why the handshake could not be written. A server that refuses
// the client's certificate may have closed the connection by then; its alert is
// still there to be read.
func unwritten(conn net.Conn, err error) *errorx.Error {
	if _, secured := conn.(socketCloser); secured {
		if _, readErr := conn.Read(make([]byte, 1)); isAlert(readErr) {
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
	return ErrInit.Wrap(err, "this is not a Redis")
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

func expect(cmd string, res any, want string) *errorx.Error {
	if res != any(want) {
		return ErrInit.New("%s was answered with %T instead of %s", cmd, res, want)
	}
	return nil
}
