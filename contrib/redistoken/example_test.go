package redistoken_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redistoken"
	"github.com/joomcode/redispipe/contrib/redistoken/awsiam"
	"github.com/joomcode/redispipe/contrib/redistoken/entraid"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// OpenWithTokens opens a client, and renews its tokens until ctx is done.
func OpenWithTokens(ctx context.Context, url string, source redistoken.Source) (*redispipe.Client, error) {
	tokens := redistoken.New(source, nil)
	client, err := redispipe.Open(ctx, url, redispipe.Conn(func(o *redisconn.Opts) {
		o.CredentialsProvider = tokens.Credentials
	}))
	if err != nil {
		return nil, err
	}
	go tokens.Run(ctx, client)
	return client, nil
}

// renewing is a logger that asks for a new token when a server refuses the current one.
type renewing struct {
	redisconn.Logger
	tokens *redistoken.Tokens
}

// Report implements redisconn.Logger.
func (r renewing) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	if e, failed := event.(redisconn.LogConnectFailed); failed && redis.AsErrorx(e.Error).IsOfType(redisconn.ErrAuth) {
		r.tokens.Renew()
	}
	r.Logger.Report(conn, event)
}

// OpenElastiCache uses an ElastiCache user whose authentication mode is IAM. cfg is the result of
// config.LoadDefaultConfig of the AWS SDK.
func OpenElastiCache(ctx context.Context, url string, cfg aws.Config) (*redispipe.Client, error) {
	signer := awsiam.Signer{User: "visits", Cache: "billing", Region: cfg.Region, Credentials: cfg.Credentials}
	return OpenWithTokens(ctx, url, signer.Token)
}

// OpenAzure uses the managed identity of the machine, or another identity that the Azure SDK finds.
func OpenAzure(ctx context.Context, url, objectID string) (*redispipe.Client, error) {
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return OpenWithTokens(ctx, url, entraid.Identity{ObjectID: objectID, Credential: credential}.Token)
}

var _, _, _ = OpenElastiCache, OpenAzure, redisconn.Logger(renewing{})

// Any function can be a source of tokens.
func Example() {
	server, err := testbed.Start(testbed.Options{ACL: []string{"visits on >t0ken ~* +@all"}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	source := func(context.Context) (redistoken.Token, error) {
		return redistoken.Token{
			Credentials: redisconn.Credentials{Username: "visits", Password: "t0ken"},
			Expires:     time.Now().Add(time.Hour),
		}, nil
	}
	client, err := OpenWithTokens(ctx, "redis://"+server.Addr(), source)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var user string
	err = client.DoInto(ctx, &user, "ACL WHOAMI")
	fmt.Println(user, err)
	// Output:
	// visits <nil>
}
