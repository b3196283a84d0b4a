package dial

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// These are errors of package redisconn, which describes them.
var (
	ErrDial        = sock.ErrConnection.NewType("dial")
	ErrTLS         = sock.ErrConnection.NewType("tls", errs.ErrTraitInitPermanent)
	ErrAuth        = sock.ErrConnection.NewType("auth", errs.ErrTraitInitPermanent)
	ErrCredentials = sock.ErrConnection.NewType("credentials")
	ErrInit        = sock.ErrConnection.NewType("init", errs.ErrTraitInitPermanent)
	ErrConnSetup   = sock.ErrConnection.NewType("setup")
	ErrRole        = sock.ErrConnection.NewType("role")
	ErrStranger    = sock.ErrConnection.NewType("stranger")
	ErrClientName  = redis.ErrOpts.NewType("client_name", errs.ErrTraitInitPermanent)
	ErrAddress     = redis.ErrOpts.NewType("address", errs.ErrTraitInitPermanent)

	EKDb               = errs.NewPrintableProperty("db")
	EKCredentialsCause = errs.NewProperty("credentials_cause")
)
