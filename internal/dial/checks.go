package dial

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// refused gives a server's error its type: ErrConnSetup if it is temporary, ErrAuth if
// authentication is missing, and otherwise other.
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

// saysOK returns a function that checks the answer to cmd: if it is not OK, it is an error (see
// refused).
func saysOK(cmd string, other *errorx.Type) func(res any) *errorx.Error {
	return func(res any) *errorx.Error {
		if err := redis.AsErrorx(res); err != nil {
			return refused(err, other)
		}
		return expect(cmd, res, "OK")
	}
}

// JudgeAuth returns nil if the server accepts the credentials, and otherwise the error. res is the
// answer to AUTH, after [Redact].
func JudgeAuth(res any) *errorx.Error { return saysOK("AUTH", ErrAuth)(res) }

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

// checkPing learns whether the argument of PING comes back. It accepts MISCONF, by which the server
// reports trouble with its disk. Unless pings is set, it also accepts the refusal of a user who may
// not call PING, and the error of a server that does not know PING.
func (s *Socket) checkPing(nonce *sock.Nonce, integrity, pings bool) func(res any) *errorx.Error {
	return func(res any) *errorx.Error {
		err := redis.AsErrorx(res)
		switch {
		case err != nil:
		case nonce.Is(res):
			s.Peer.Mute, s.echoes = false, true
			return nil
		case !sock.IsPong(res):
			return ErrInit.New("PING was answered with %T", res)
		case integrity:
			return ErrInit.New("Opts.Integrity needs a server that answers PING with its argument: " +
				"this one, or a proxy in front of it, answers PONG")
		default:
			s.Peer.Mute = true
			return nil
		}
		switch forbidden := strings.HasPrefix(err.Message(), "NOPERM"); {
		case sock.PingUnknown(err) && pings:
			return ErrInit.Wrap(err, "Opts.Integrity, and sockets for pushes, need a server that knows PING")
		case sock.PingUnknown(err):
			s.Peer.NoPing = true
			return nil
		case forbidden && pings:
			return ErrInit.Wrap(err, "Opts.Integrity, and sockets for pushes, need a user that may PING")
		case forbidden, sock.Misconf(err):
			return nil
		}
		return refused(err, ErrInit)
	}
}

// checkName accepts any error: servers before 7.2 do not have CLIENT SETINFO, and a user need not
// be allowed to set names.
func checkName(res any) *errorx.Error {
	if redis.AsErrorx(res) != nil {
		return nil
	}
	return expect("CLIENT", res, "OK")
}

// checkCapa accepts any error, because only Valkey 8 and later have the command. After an error,
// the Dialer does not send the command again.
func (d *Dialer) checkCapa(res any) *errorx.Error {
	d.staysPut.Store(redis.AsErrorx(res) != nil)
	return checkName(res)
}

func expect(cmd string, res any, want string) *errorx.Error {
	if res != any(want) {
		return ErrInit.New("%s was answered with %T instead of %s", cmd, res, want)
	}
	return nil
}

// checkRole refuses servers with another role than Role. If the user may not call ROLE, it accepts
// any server.
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

// checkMember refuses nodes of other clusters and servers without a cluster. It accepts servers
// that do not answer the question: the user may have no permission to ask, or a proxy may not know
// the command.
func checkMember(members map[string]bool) func(res any) *errorx.Error {
	return func(res any) *errorx.Error {
		err := redis.AsErrorx(res)
		id, _ := redis.ArgToString(res)
		switch {
		case err == nil && !members[id]:
			return ErrStranger.New("the server is a node of another cluster")
		case err == nil:
			return nil
		case err.HasTrait(redis.ErrTraitTransient):
			return refused(err, ErrInit)
		case strings.HasPrefix(err.Message(), "ERR This instance has cluster support disabled"):
			return ErrStranger.Wrap(err, "the server is not a node of the cluster")
		}
		return nil
	}
}

// reset is the first step of a new handshake on a socket that had one before.
var reset = Step{redis.Req("RESET"), func(res any) *errorx.Error { return expect("RESET", res, "RESET") }}

// Role is redisconn.Role.
type Role string

// The roles of package redisconn.
const (
	RoleAny     Role = ""
	RoleMaster  Role = "master"
	RoleReplica Role = "replica"
)

// ParseRole is redisconn.ParseRole.
func ParseRole(res any) (Role, error) {
	if err := redis.AsError(res); err != nil {
		return RoleAny, err
	}
	list, _ := res.([]any)
	if len(list) == 1 { // a proxy returns such a list for each server
		list, _ = list[0].([]any)
	}
	if len(list) > 0 {
		switch name, _ := redis.ArgToString(list[0]); name {
		case "master":
			return RoleMaster, nil
		case "slave":
			return RoleReplica, nil
		}
	}
	return RoleAny, redis.ErrResponseUnexpected.New("the answer to ROLE is neither a master's nor a replica's").
		WithProperty(redis.EKResponse, res)
}
