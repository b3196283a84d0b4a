package dial

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Redact returns an error that shows nothing that may be part of a password that was sent. It keeps
// the known texts with which servers refuse a handshake. Of other texts it keeps at most the code.
// It does not cut the password out of a text, because the gap would reveal the password.
func Redact(cr Credentials, res any) any {
	err := redis.AsErrorx(res)
	if err == nil || cr.Password == "" {
		return res
	}
	text := err.Message()
	switch {
	case err.IsOfType(redis.ErrResult), err.IsOfType(redis.ErrProxy):
		text = shown(cr, text)
	case quotes(err):
	default:
		return res
	}
	return err.Type().New("%s", text)
}

// quotes reports whether an error contains text from the server.
func quotes(err *errorx.Error) bool {
	_, line := err.Property(redis.EKLine)
	_, text := err.Property(redis.EKText)
	return line || text
}

const notShown = " (hidden: the server's text may quote the password)"

// shown returns the part of a refused handshake's error that may be shown. The part is taken from
// the lists below, never from the server.
func shown(cr Credentials, text string) string {
	known := ""
	for _, phrase := range append(refusals(cr), fixedRefusals...) {
		if strings.HasPrefix(text, phrase) && len(phrase) > len(known) {
			known = phrase
		}
	}
	if known == "" {
		code, _, _ := strings.Cut(text, " ")
		for _, c := range codes {
			if c == code {
				known = c
			}
		}
	}
	if known == text {
		return known
	}
	return strings.TrimPrefix(known+notShown, " ")
}

// codes are the first words of servers' errors that may be shown.
var codes = []string{
	"ERR", "WRONGPASS", "NOAUTH", "NOPERM", "NOPROTO", "DENIED", "LOADING", "BUSY", "MASTERDOWN", "MISCONF",
	"CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "READONLY", "OOM",
}

// fixedRefusals are error texts of Redis and Valkey, and of servers and proxies that copy them.
var fixedRefusals = []string{
	"WRONGPASS invalid username-password pair",
	"WRONGPASS invalid username-password pair or user is disabled.",
	"NOAUTH Authentication required",
	"NOAUTH Authentication required.",
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
	"NOPROTO unsupported protocol version",
	"NOPROTO sorry, this protocol version is not supported.",
	"DENIED Redis is running in protected mode because protected mode is enabled",
	"DENIED Valkey is running in protected mode because protected mode is enabled",
	"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
	"ERR Client sent AUTH, but no password is set",
	"ERR Client sent AUTH, but no username-password pair is set",
	"ERR invalid password",
	"ERR invalid DB index",
	"ERR DB index is out of range",
	"ERR SELECT is not allowed in cluster mode",
	"ERR This instance has cluster support disabled",
	"ERR max number of clients reached",
	"ERR max number of clients + cluster connections reached",
	"ERR syntax error",
	"ERR operation not permitted",
	"ERR Client tracking is not supported",
	"LOADING Redis is loading the dataset in memory",
	"LOADING Valkey is loading the dataset in memory",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
	"BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
	"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"MASTERDOWN Link with MASTER is down and slave-serve-stale-data is set to 'no'.",
}

// refusals returns error texts that contain the name of a command of the handshake, or the name of
// the user.
func refusals(cr Credentials) (list []string) {
	for _, cmd := range []string{
		"auth", "hello", "select", "readonly", "role", "ping", "reset", "info", "client",
		"client|id", "client|setname", "client|setinfo", "client|tracking",
	} {
		upper := strings.ToUpper(cmd)
		list = append(list, "ERR unknown command '"+upper+"'", "ERR unknown command `"+upper+"`",
			"ERR wrong number of arguments for '"+cmd+"' command",
			"NOPERM this user has no permissions to run the '"+cmd+"' command",
			"NOPERM this user has no permissions to run the '"+cmd+"' command or its subcommand")
		if cr.Username != "" && cr.Username != cr.Password {
			list = append(list, "NOPERM User "+cr.Username+" has no permissions to run the '"+cmd+"' command")
		}
	}
	return list
}
