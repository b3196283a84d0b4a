package dial

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// What is shown of the server's texts about a password does not depend on the password, so it
// reveals nothing.
func TestRedactTellsNothingOfThePassword(t *testing.T) {
	for text, want := range map[string]string{
		"WRONGPASS invalid username-password pair or user is disabled.": "WRONGPASS invalid username-password pair or user is disabled.",
		"WRONGPASS invalid username-password pair":                      "WRONGPASS invalid username-password pair",
		"NOAUTH Authentication required.":                               "NOAUTH Authentication required.",
		"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?": "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"ERR DB index is out of range":                                       "ERR DB index is out of range",
		"NOPERM User app has no permissions to run the 'ping' command":       "NOPERM User app has no permissions to run the 'ping' command",
		"LOADING Redis is loading the dataset in memory":                     "LOADING Redis is loading the dataset in memory",
		"ERR unknown command 'AUTH', with args beginning with: 'pass' 'wo' ": "ERR unknown command 'AUTH'",
		"WRONGPASS invalid password of the pair":                             "WRONGPASS" + notShown,
		"WRONGPASS invalid username-password pair passw":                     "WRONGPASS invalid username-password pair" + notShown,
		"ERR bad pass":       "ERR" + notShown,
		"DENIED passwor":     "DENIED" + notShown,
		"password":           notShown[1:],
		"pass word":          notShown[1:],
		"LOADING the passwo": "LOADING" + notShown,
	} {
		for _, password := range []string{"password", "p", "pass", "username-password", "WRONGPASS", "ERR", "unknown", "another"} {
			given := resp.ErrorReply(text)
			got := redis.AsErrorx(Redact(Credentials{Username: "app", Password: password}, given))
			require.Equal(t, want, got.Message(), password)
			require.Same(t, given.Type(), got.Type())
			_, kept := got.Property(redis.EKText)
			require.False(t, kept)
		}
	}
	given := resp.ErrorReply("ERR who knows 'what'")
	require.Same(t, given, Redact(Credentials{}, given), "there is nothing to hide")
}

// Errors of the connection do not show the password either. They keep their causes.
func TestRedactLines(t *testing.T) {
	cr := Credentials{Password: "password"}
	line := redis.ErrUnknownHeaderType.New("unknown type").WithProperty(redis.EKLine, []byte("?passw"))
	got := redis.AsErrorx(Redact(cr, line))
	require.True(t, got.IsOfType(redis.ErrUnknownHeaderType))
	require.Equal(t, line.Message(), got.Message())
	_, kept := got.Property(redis.EKLine)
	require.False(t, kept)

	lost := redis.ErrIO.Wrap(io.ErrUnexpectedEOF, "reading")
	require.Same(t, lost, Redact(cr, lost))
	require.Equal(t, "OK", Redact(cr, "OK"))
}
