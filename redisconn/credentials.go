package redisconn

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Credentials are a user and a password. The zero value means no authentication.
type Credentials struct {
	// Username is the ACL user; empty means the default user.
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

// auth returns the arguments of AUTH, or nil without credentials.
func (cr Credentials) auth() []any {
	switch {
	case cr.Username != "":
		return []any{cr.Username, cr.Password}
	case cr.Password != "":
		return []any{cr.Password}
	}
	return nil
}

// redact takes the password out of an error that the server has put it into.
func (cr Credentials) redact(res any) any {
	err := redis.AsErrorx(res)
	if err == nil || cr.Password == "" || !strings.Contains(err.Message(), cr.Password) {
		return res
	}
	return err.Type().New("%s", strings.ReplaceAll(err.Message(), cr.Password, "(hidden)"))
}

// credentials returns what to authenticate with: every socket and every
// Reauthenticate asks here.
func (c *Connection) credentials(ctx context.Context) (Credentials, *errorx.Error) {
	if c.opts.CredentialsProvider == nil {
		return Credentials{c.opts.Username, c.opts.Password}, nil
	}
	type provided struct {
		cr  Credentials
		err error
	}
	p, err := callUntil(ctx, c, "Opts.CredentialsProvider", func() (p provided) {
		p.cr, p.err = c.opts.CredentialsProvider(ctx)
		return p
	}, func(provided) {})
	if err != nil {
		return Credentials{}, ErrCredentials.Wrap(err, "asking for credentials").WithProperty(EKCredentialsCause, err)
	}
	if p.err != nil { // its text may show a secret
		return Credentials{}, ErrCredentials.New("Opts.CredentialsProvider failed with %T", p.err).
			WithProperty(EKCredentialsCause, p.err)
	}
	return p.cr, nil
}
