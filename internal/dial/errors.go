package dial

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/redis"
)

// The errors of package redisconn, where they are described.
var (
	ErrDial        = peer.ErrConnection.NewType("dial")
	ErrTLS         = peer.ErrConnection.NewType("tls", errs.ErrTraitInitPermanent)
	ErrAuth        = peer.ErrConnection.NewType("auth", errs.ErrTraitInitPermanent)
	ErrCredentials = peer.ErrConnection.NewType("credentials")
	ErrInit        = peer.ErrConnection.NewType("init", errs.ErrTraitInitPermanent)
	ErrConnSetup   = peer.ErrConnection.NewType("setup")
	ErrRole        = peer.ErrConnection.NewType("role")
	ErrClientName  = redis.ErrOpts.NewType("client_name", errs.ErrTraitInitPermanent)
	ErrAddress     = redis.ErrOpts.NewType("address", errs.ErrTraitInitPermanent)

	EKDb               = errs.NewPrintableProperty("db")
	EKCredentialsCause = errs.NewProperty("credentials_cause")
)
