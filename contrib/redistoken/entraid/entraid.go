// Package entraid makes the tokens of Microsoft Entra ID that Azure Managed Redis and Azure Cache
// for Redis take, with the credentials of the Azure SDK: of a managed identity, a client secret
// or whatever else its package azidentity has.
//
// Servers take them over TLS only, and close a connection whose token has expired:
// [redistoken.Tokens.Run] renews it before. The SDK keeps a token until five minutes before its
// end, and returns the same one until then, which Run expects. Subscribers need Opts.Protocol 3,
// since with RESP2 no AUTH can be sent on their sockets.
package entraid

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/joomcode/redispipe/contrib/redistoken"
	"github.com/joomcode/redispipe/redisconn"
)

// Scope is what a token is asked for.
const Scope = "https://redis.azure.com/.default"

// Identity is whose tokens are used.
type Identity struct {
	// ObjectID is the user: the object ID of the service principal or managed identity, also
	// called its principal ID. It is not the client ID.
	ObjectID string
	// Credential gets the tokens: one of package azidentity, made once.
	Credential azcore.TokenCredential
	// Scope is what is asked for. Default: the constant Scope.
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
