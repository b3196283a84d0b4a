package entraid

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/contrib/redistoken"
)

const tenant = "00000000-0000-0000-0000-000000000001"

// authority starts a server that takes the place of Entra ID. It calls answer for each request for a token.
func authority(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (*httptest.Server, azcore.ClientOptions) {
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /"+tenant+"/v2.0/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"issuer":                 server.URL + "/" + tenant + "/v2.0",
			"authorization_endpoint": server.URL + "/" + tenant + "/oauth2/v2.0/authorize",
			"token_endpoint":         server.URL + "/" + tenant + "/oauth2/v2.0/token",
		})
	})
	mux.HandleFunc("POST /"+tenant+"/oauth2/v2.0/token", answer)
	return server, azcore.ClientOptions{
		Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: server.URL},
		Transport: server.Client(),
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func TestTokenOfClientSecret(t *testing.T) {
	_, opts := authority(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "client_credentials", r.PostFormValue("grant_type"))
		assert.Equal(t, "client", r.PostFormValue("client_id"))
		assert.Equal(t, "s3cret", r.PostFormValue("client_secret"))
		assert.Contains(t, r.PostFormValue("scope"), "https://redis.azure.com/.default")
		reply(w, map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": "t0ken"})
	})
	credential, err := azidentity.NewClientSecretCredential(tenant, "client", "s3cret",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: opts, DisableInstanceDiscovery: true})
	require.NoError(t, err)
	before := time.Now()
	var source redistoken.Source = Identity{ObjectID: "object", Credential: credential}.Token
	token, err := source(t.Context())
	require.NoError(t, err)
	require.Equal(t, "object", token.Username)
	require.Equal(t, "t0ken", token.Password)
	require.False(t, token.Expires.Before(before.Add(time.Hour).Truncate(time.Second)))
	require.False(t, token.Expires.After(time.Now().Add(time.Hour)))

	again, err := source(t.Context())
	require.NoError(t, err)
	require.Equal(t, token.Credentials, again.Credentials)
	require.True(t, token.Expires.Equal(again.Expires), "that of the SDK's cache")
}

func TestTokenOfManagedIdentity(t *testing.T) {
	expires := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "https://redis.azure.com", r.URL.Query().Get("resource"))
		assert.Equal(t, "header", r.Header.Get("X-Identity-Header"))
		reply(w, map[string]any{
			"access_token": "t0ken", "expires_on": expires.Unix(), "resource": "https://redis.azure.com", "token_type": "Bearer",
		})
	}))
	defer server.Close()
	t.Setenv("IDENTITY_ENDPOINT", server.URL) // as in an Azure App Service
	t.Setenv("IDENTITY_HEADER", "header")
	credential, err := azidentity.NewManagedIdentityCredential(nil)
	require.NoError(t, err)
	token, err := Identity{ObjectID: "object", Credential: credential}.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, "t0ken", token.Password)
	require.WithinDuration(t, expires, token.Expires, time.Minute)
}

func TestTokenRefused(t *testing.T) {
	_, opts := authority(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		reply(w, map[string]any{"error": "invalid_client"})
	})
	credential, err := azidentity.NewClientSecretCredential(tenant, "client", "wrong",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: opts, DisableInstanceDiscovery: true})
	require.NoError(t, err)
	_, err = Identity{ObjectID: "object", Credential: credential}.Token(t.Context())
	var refused *azidentity.AuthenticationFailedError
	require.ErrorAs(t, err, &refused)
}

// scopes is a credential that returns the requested scopes as the token.
type scopes struct{ err error }

func (s scopes) GetToken(_ context.Context, opts policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: opts.Scopes[0], ExpiresOn: time.Now().Add(time.Hour)}, s.err
}

func TestScope(t *testing.T) {
	for want, given := range map[string]string{Scope: "", "other/.default": "other/.default"} {
		token, err := Identity{Credential: scopes{}, Scope: given}.Token(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, token.Password)
	}
	broken := errors.New("broken")
	_, err := Identity{Credential: scopes{broken}}.Token(t.Context())
	require.ErrorIs(t, err, broken)
}
