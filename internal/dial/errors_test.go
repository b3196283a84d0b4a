package dial

import (
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// The names and traits of these errors do not change, because programs use them.
func TestErrors(t *testing.T) {
	for name, e := range map[string]struct {
		of        *errorx.Type
		permanent bool
	}{
		"redispipe.connection.not_connected": {sock.ErrNotConnected, false},
		"redispipe.connection.dial":          {ErrDial, false},
		"redispipe.connection.tls":           {ErrTLS, true},
		"redispipe.connection.auth":          {ErrAuth, true},
		"redispipe.connection.credentials":   {ErrCredentials, false},
		"redispipe.connection.init":          {ErrInit, true},
		"redispipe.connection.setup":         {ErrConnSetup, false},
		"redispipe.connection.role":          {ErrRole, false},
		"redispipe.opts.client_name":         {ErrClientName, true},
		"redispipe.opts.address":             {ErrAddress, true},
	} {
		require.Equal(t, name, e.of.FullName())
		err := e.of.NewWithNoMessage()
		require.Equal(t, e.permanent, err.HasTrait(errs.ErrTraitInitPermanent), name)
		ofConnection := sock.ErrConnection.IsNamespaceOf(e.of)
		require.Equal(t, ofConnection, err.HasTrait(redis.ErrTraitNotSent), name)
		require.Equal(t, ofConnection, err.HasTrait(redis.ErrTraitConnectivity), name)
	}
	require.Equal(t, "redispipe.connection.init: refused {db: 3}", ErrInit.New("refused").WithProperty(EKDb, 3).Error())
	require.Equal(t, "redispipe.connection.credentials: failed", ErrCredentials.New("failed").WithProperty(EKCredentialsCause, 3).Error())
}
