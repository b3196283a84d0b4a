package dial

import (
	"fmt"
	"log/slog"

	"github.com/joomcode/redispipe/redis"
)

// Credentials are a user and a password. The zero value means no authentication.
type Credentials struct {
	// Username is the ACL user. Empty means the default user.
	Username string
	Password string
}

// String prints the credentials without the password.
func (cr Credentials) String() string {
	if cr.Password != "" {
		cr.Password = "(hidden)"
	}
	return fmt.Sprintf("{Username:%s Password:%s}", cr.Username, cr.Password)
}

// GoString is String, so that %#v does not show the password.
func (cr Credentials) GoString() string { return cr.String() }

// LogValue implements slog.LogValuer, so that logs do not show the password.
func (cr Credentials) LogValue() slog.Value { return slog.StringValue(cr.String()) }

// Auth returns the AUTH request for credentials. needed is false if there are none.
func Auth(cr Credentials) (req redis.Request, needed bool) {
	switch {
	case cr.Username != "":
		return redis.Req("AUTH", cr.Username, cr.Password), true
	case cr.Password != "":
		return redis.Req("AUTH", cr.Password), true
	}
	return req, false
}
