// Package entraid gets the Microsoft Entra ID tokens that Azure Managed Redis and Azure Cache
// for Redis accept, with credentials of the Azure SDK: a managed identity, a client secret
// or another credential of its package azidentity.
//
// Servers accept a token only over TLS, and close a connection whose token has expired;
// [redistoken.Tokens.Run] renews the token before that. The SDK returns the same token until five
// minutes before it expires, which Run expects. Subscribers need Opts.Protocol 3,
// because with RESP2 no AUTH can be sent on their sockets.
package entraid

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/joomcode/redispipe/contrib/redistoken"
	"github.com/joomcode/redispipe/redisconn"
)

// Scope is the default scope of a token.
const Scope = "https://redis.azure.com/.default"

// Identity is the identity whose tokens are used.
type Identity struct {
	// ObjectID is the user: the object ID of the service principal or managed identity, also
	// called its principal ID. It is not the client ID.
	ObjectID string
	// Credential gets the tokens. It is a credential of package azidentity; create it once.
	Credential azcore.TokenCredential
	// Scope is the scope of the tokens. Default: the constant Scope.
	Scope string
}

// Token is a [redistoken.Source].
func (i Identity) Token(ctx context.Context) (redistoken.Token, error) {
	scope := i.Scope
	if scope == "" {
		scope = Scope
	}
	token, err := i.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	if err != nil {
		return redistoken.Token{}, err
	}
	return redistoken.Token{
		Credentials: redisconn.Credentials{Username: i.ObjectID, Password: token.Token},
		Expires:     token.ExpiresOn,
	}, nil
}
