package dial

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/redis"
)

// refused types an error that the server answered with: what passes by itself
// is ErrConnSetup, a want of authentication ErrAuth, the rest of type other.
func refused(err *errorx.Error, other *errorx.Type) *errorx.Error {
	if err.HasTrait(redis.ErrTraitTransient) {
		return ErrConnSetup.Wrap(err, "handshake")
	}
	text := err.Message()
	if strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS") {
		return ErrAuth.Wrap(err, "handshake")
	}
	return other.Wrap(err, "handshake")
}

func checkAuth(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refused(err, ErrAuth)
	}
	return expect("AUTH", res, "OK")
}

// JudgeAuth returns what a server's answer to Auth means; nil is that it takes the
// credentials, which the error does not show.
func JudgeAuth(cr Credentials, res any) *errorx.Error { return checkAuth(cr.redact(res)) }

func checkHello(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refused(err, ErrInit)
	}
	if _, ok := res.(map[string]any); !ok {
		return ErrInit.New("HELLO was answered with %T", res)
	}
	return nil
}

func (c *Config) checkSelect(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refused(err, ErrInit).WithProperty(EKDb, c.DB)
	}
	return expect("SELECT", res, "OK")
}

func checkReadOnly(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refused(err, ErrInit)
	}
	return expect("READONLY", res, "OK")
}

func checkTracking(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return refused(err, ErrInit)
	}
	return expect("CLIENT TRACKING", res, "OK")
}

// checkPing accepts a user that may not PING, and a server that answers it with
// the state of its disk: it has understood.
func (c *Config) checkPing(res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		if c.Integrity && strings.HasPrefix(err.Message(), "NOPERM") {
			return ErrInit.Wrap(err, "Opts.Integrity needs a user that may PING")
		}
		if strings.HasPrefix(err.Message(), "NOPERM") || peer.Misconf(err) {
			return nil
		}
		return refused(err, ErrInit)
	}
	return expect("PING", res, "PONG")
}

// checkName accepts any error: servers before 7.2 have no CLIENT SETINFO, and a user
// need not be allowed to give names.
func checkName(res any) *errorx.Error {
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
func (c *Config) checkRole(res any) *errorx.Error {
	role, err := ParseRole(res)
	switch failure := redis.AsErrorx(err); {
	case failure == nil && role == c.Role:
		return nil
	case failure == nil:
		return ErrRole.New("the server is a %s, not a %s", role, c.Role)
	case failure.IsOfType(redis.ErrResponseUnexpected):
		return ErrRole.Wrap(failure, "the server is not a %s", c.Role)
	case strings.HasPrefix(failure.Message(), "NOPERM"):
		return nil
	default:
		return refused(failure, ErrInit)
	}
}

// reset is the step before all others where there was a handshake already.
var reset = Step{redis.Req("RESET"), func(res any) *errorx.Error { return expect("RESET", res, "RESET") }}

// Pinging is a step of connections whose user needs the permission to PING.
var Pinging = Step{redis.Req("PING"), func(res any) *errorx.Error {
	err := redis.AsErrorx(res)
	if err == nil || peer.Misconf(err) {
		return nil
	}
	return refused(err, ErrInit)
}}
