package dial

import (
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// The errors of package redisconn, where they are described.
var (
	ErrDial        = peer.ErrConnection.NewType("dial")
	ErrTLS         = peer.ErrConnection.NewType("tls", wire.ErrTraitInitPermanent)
	ErrAuth        = peer.ErrConnection.NewType("auth", wire.ErrTraitInitPermanent)
	ErrCredentials = peer.ErrConnection.NewType("credentials")
	ErrInit        = peer.ErrConnection.NewType("init", wire.ErrTraitInitPermanent)
	ErrConnSetup   = peer.ErrConnection.NewType("setup")
	ErrRole        = peer.ErrConnection.NewType("role")
	ErrClientName  = redis.ErrOpts.NewType("client_name", wire.ErrTraitInitPermanent)
	ErrAddress     = redis.ErrOpts.NewType("address", wire.ErrTraitInitPermanent)

	EKDb               = wire.NewPrintableProperty("db")
	EKCredentialsCause = wire.NewProperty("credentials_cause")
)
