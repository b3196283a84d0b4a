// Package awsiam makes the tokens that Amazon ElastiCache and MemoryDB take from users whose
// authentication mode is IAM. They are made without a request to AWS, beyond those that the SDK
// needs for its own credentials.
//
// Servers take them over TLS only, for 15 minutes, and close a connection 12 hours after its last
// AUTH: [redistoken.Tokens.Run] keeps both from being noticed. The identity needs the right
// elasticache:Connect or memorydb:Connect, to the cache and to the user.
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

// life is the longest that the services take a token for.
const life = 15 * time.Minute

// Signer makes tokens of credentials of AWS.
type Signer struct {
	// User is the ID of the user, which is its name as well.
	User string
	// Cache is the name of the serverless cache, of the replication group or of the cluster of
	// MemoryDB: no address. It is sent in lower case, as the services have it.
	Cache string
	// Serverless says that Cache is a serverless cache of ElastiCache.
	Serverless bool
	// MemoryDB says that Cache is a cluster of MemoryDB.
	MemoryDB bool
	// Region is that of the cache, such as "eu-central-1".
	Region string
	// Credentials are those of AWS, as in [aws.Config].
	Credentials aws.CredentialsProvider
}

// Token is a [redistoken.Source]. The token expires with the credentials of AWS, if they expire
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
	expires := now.Add(life)
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
		"X-Amz-Expires": {strconv.Itoa(int(life / time.Second))},
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
