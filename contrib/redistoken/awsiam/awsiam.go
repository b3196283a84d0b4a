// Package awsiam creates the tokens that Amazon ElastiCache and MemoryDB accept from users whose
// authentication mode is IAM. It sends no request to AWS, except those that the SDK
// needs for its own credentials.
//
// Servers accept a token only over TLS and for 15 minutes, and close a connection 12 hours after its
// last AUTH. [redistoken.Tokens.Run] renews in time for both. The identity needs the permission
// elasticache:Connect or memorydb:Connect, for the cache and for the user.
package awsiam

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/joomcode/redispipe/contrib/redistoken"
	"github.com/joomcode/redispipe/redisconn"
)

// lifetime is the longest lifetime of a token that the services accept.
const lifetime = 15 * time.Minute

// Signer creates tokens from AWS credentials.
type Signer struct {
	// User is the ID of the user, which is also its name.
	User string
	// Cache is the name (not the address) of the serverless cache, the replication group or the
	// MemoryDB cluster. The Signer sends it in lower case, as the services expect.
	Cache string
	// Serverless is set if Cache is a serverless cache of ElastiCache.
	Serverless bool
	// MemoryDB is set if Cache is a cluster of MemoryDB.
	MemoryDB bool
	// Region is the region of the cache, such as "eu-central-1".
	Region string
	// Credentials are the AWS credentials, as in [aws.Config].
	Credentials aws.CredentialsProvider
}

// Token is a [redistoken.Source]. The token expires with the AWS credentials, if these expire
// within its 15 minutes.
func (s Signer) Token(ctx context.Context) (redistoken.Token, error) {
	credentials, err := s.Credentials.Retrieve(ctx)
	if err != nil {
		return redistoken.Token{}, err
	}
	now := time.Now()
	password, err := s.sign(ctx, credentials, now)
	if err != nil {
		return redistoken.Token{}, err
	}
	expires := now.Add(lifetime)
	if credentials.CanExpire && credentials.Expires.Before(expires) {
		expires = credentials.Expires
	}
	return redistoken.Token{
		Credentials: redisconn.Credentials{Username: s.User, Password: password},
		Expires:     expires,
	}, nil
}

// sign returns the URL, without its scheme, of a presigned request to connect.
func (s Signer) sign(ctx context.Context, credentials aws.Credentials, now time.Time) (string, error) {
	query := url.Values{
		"Action":        {"connect"},
		"User":          {s.User},
		"X-Amz-Expires": {strconv.Itoa(int(lifetime / time.Second))},
	}
	if s.Serverless {
		query.Set("ResourceType", "ServerlessCache")
	}
	service := "elasticache"
	if s.MemoryDB {
		service = "memorydb"
	}
	u := url.URL{Scheme: "http", Host: strings.ToLower(s.Cache), Path: "/", RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	empty := sha256.Sum256(nil) // the payload of a GET
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, req, hex.EncodeToString(empty[:]), service, s.Region, now)
	return strings.TrimPrefix(signed, "http://"), err
}
