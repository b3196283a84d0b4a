package awsiam

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/contrib/redistoken"
)

// These are the keys in the examples that AWS publishes.
const (
	accessKey = "AKIAIOSFODNN7EXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// signature computes the signature of a presigned GET, step by step as Signature Version 4 describes. Only the header
// host is signed. query must not contain X-Amz-Signature.
func signature(secret, host, path string, query url.Values, payload string) string {
	scope := strings.SplitN(query.Get("X-Amz-Credential"), "/", 2)[1]
	canonical := strings.Join([]string{
		"GET", path, strings.ReplaceAll(query.Encode(), "+", "%20"), "host:" + host, "", "host", payload,
	}, "\n")
	hash := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", query.Get("X-Amz-Date"), scope, hex.EncodeToString(hash[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(scope, "/"), text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// The function signature returns the result of the published example in the documentation of Amazon S3,
// "Authenticating Requests: Using Query Parameters".
func TestPublishedExample(t *testing.T) {
	query := url.Values{
		"X-Amz-Algorithm":     {"AWS4-HMAC-SHA256"},
		"X-Amz-Credential":    {accessKey + "/20130524/us-east-1/s3/aws4_request"},
		"X-Amz-Date":          {"20130524T000000Z"},
		"X-Amz-Expires":       {"86400"},
		"X-Amz-SignedHeaders": {"host"},
	}
	require.Equal(t, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
		signature(secretKey, "examplebucket.s3.amazonaws.com", "/test.txt", query, "UNSIGNED-PAYLOAD"))
}

// provider is an aws.CredentialsProvider for tests.
type provider struct {
	aws.Credentials
	err error
}

func (p provider) Retrieve(context.Context) (aws.Credentials, error) { return p.Credentials, p.err }

func TestToken(t *testing.T) {
	keys := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
	session := keys
	session.SessionToken = "a/token+with=signs"
	for name, c := range map[string]struct {
		Signer
		keys     aws.Credentials
		service  string
		resource []string
	}{
		"ElastiCache": {Signer{User: "visits", Cache: "Billing"}, keys, "elasticache", nil},
		"serverless":  {Signer{User: "visits", Cache: "billing", Serverless: true}, keys, "elasticache", []string{"ServerlessCache"}},
		"MemoryDB":    {Signer{User: "a user", Cache: "billing", MemoryDB: true}, session, "memorydb", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // at 2000-01-01 00:00:00
				c.Region, c.Credentials = "eu-central-1", provider{Credentials: c.keys}
				var source redistoken.Source = c.Token
				token, err := source(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.User, token.Username)
				require.Equal(t, time.Now().Add(15*time.Minute), token.Expires)

				u, err := url.Parse("http://" + token.Password)
				require.NoError(t, err)
				require.Equal(t, "billing", u.Host)
				require.Equal(t, "/", u.Path)
				query := u.Query()
				signed := query["X-Amz-Signature"]
				delete(query, "X-Amz-Signature")
				require.Equal(t, []string{signature(secretKey, u.Host, u.Path, query, fmt.Sprintf("%x", sha256.Sum256(nil)))}, signed)
				want := url.Values{
					"Action": {"connect"}, "User": {c.User}, "X-Amz-Expires": {"900"},
					"X-Amz-Algorithm":  {"AWS4-HMAC-SHA256"},
					"X-Amz-Credential": {accessKey + "/20000101/eu-central-1/" + c.service + "/aws4_request"},
					"X-Amz-Date":       {"20000101T000000Z"}, "X-Amz-SignedHeaders": {"host"},
				}
				if c.resource != nil {
					want["ResourceType"] = c.resource
				}
				if c.keys.SessionToken != "" {
					want["X-Amz-Security-Token"] = []string{c.keys.SessionToken}
				}
				require.Equal(t, want, query)
			})
		})
	}
}

func TestTokenExpiresWithCredentials(t *testing.T) {
	keys := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, CanExpire: true}
	for name, left := range map[string]time.Duration{"earlier": 5 * time.Minute, "later": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			keys.Expires = time.Now().Add(left)
			token, err := Signer{Cache: "billing", Credentials: provider{Credentials: keys}}.Token(t.Context())
			require.NoError(t, err)
			require.Equal(t, time.Now().Add(min(left, 15*time.Minute)), token.Expires, name)
		})
	}
}

func TestTokenFails(t *testing.T) {
	broken := errors.New("broken")
	_, err := Signer{Cache: "billing", Credentials: provider{err: broken}}.Token(t.Context())
	require.ErrorIs(t, err, broken)
	_, err = Signer{Cache: "no name", Credentials: provider{}}.Token(t.Context())
	require.Error(t, err)
}
