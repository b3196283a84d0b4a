package redisconn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// MutualTLS reads the authority that signs the server's certificate, and the
// client's own certificate with its key, all in PEM.
func MutualTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + caFile)
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      roots,
		Certificates: []tls.Certificate{cert},
	}, nil
}

// ReloadedCertificate reads the client's certificate and key anew for each handshake.
func ReloadedCertificate(certFile, keyFile string) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &cert, err
	}
}

// The client verifies the server's certificate for the host of the address.
func ExampleOpts_tLS() {
	server, err := testbed.Start(testbed.Options{TLS: true, ClientCerts: true, Password: "s3cret"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	config, err := server.ClientTLS() // a program would call MutualTLS
	if err != nil {
		log.Fatal(err)
	}
	ctx, password := context.Background(), "s3cret"

	opts := redisconn.Opts{
		Password:   password,
		TLSEnabled: true,
		TLSConfig:  config, // returned by MutualTLS
	}
	opts.Logger, opts.IOTimeout = redisconn.NoopLogger{}, time.Minute // IOTimeout is long because a busy test machine may stand still
	conn, err := redisconn.Connect(ctx, server.TLSAddr(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(redis.SyncCtx{S: conn}.Do(ctx, "PING"))

	// Without the authority's certificate, Connect fails and does not retry.
	opts.TLSConfig = nil
	_, err = redisconn.Connect(ctx, server.TLSAddr(), opts)
	failure := redis.AsErrorx(err)
	fmt.Println(failure.IsOfType(redisconn.ErrTLS), failure.HasTrait(redisconn.ErrTraitInitPermanent))
	// Output:
	// PONG
	// true true
}

// The ACL user may send the service's commands, and PING.
func ExampleOpts_aCL() {
	server, err := testbed.Start(testbed.Options{
		ACL: []string{"visits on >s3cret resetchannels ~visits:* -@all +get +incr +ping"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, password := context.Background(), "s3cret"

	opts := redisconn.Opts{
		Username: "visits",
		Password: password,
	}
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(ctx, server.Addr(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := redis.SyncCtx{S: conn}
	fmt.Println(client.Do(ctx, "INCR", "visits:home"))
	err = redis.Err(client.Do(ctx, "FLUSHALL"))
	fmt.Println(redis.AsErrorx(err).IsOfType(redis.ErrResult))
	// Output:
	// 1
	// true
}

// Vault stands for the store that keeps the password.
type Vault struct{ password atomic.Pointer[string] }

// Credentials is the CredentialsProvider: each attempt to connect calls it, and so does
// Reauthenticate.
func (v *Vault) Credentials(ctx context.Context) (redisconn.Credentials, error) {
	return redisconn.Credentials{Username: "visits", Password: *v.password.Load()}, nil
}

// Rotate changes the password while requests keep running.
func Rotate(ctx context.Context, admin redis.SyncCtx, vault *Vault, conn *redisconn.Connection, password string) error {
	if err := redis.Err(admin.Do(ctx, "ACL SETUSER", "visits", ">"+password)); err != nil {
		return err
	}
	old := vault.password.Swap(&password)
	if err := conn.Reauthenticate(ctx); err != nil {
		return err // the old password is still valid and in use
	}
	return redis.Err(admin.Do(ctx, "ACL SETUSER", "visits", "<"+*old))
}

// A password is replaced under load. No request fails, and no connection is lost.
func ExampleConnection_Reauthenticate() {
	server, err := testbed.Start(testbed.Options{
		ACL: []string{"visits on >s3cret resetchannels ~visits:* -@all +get +incr +ping"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, first := context.Background(), "s3cret"
	vault := &Vault{}
	vault.password.Store(&first)
	admin, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()

	opts := redisconn.Opts{CredentialsProvider: vault.Credentials}
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(ctx, server.Addr(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(Rotate(ctx, redis.SyncCtx{S: admin}, vault, conn, "n3w-s3cret"))
	fmt.Println(redis.SyncCtx{S: conn}.Do(ctx, "INCR", "visits:home"))
	// Output:
	// <nil>
	// 1
}

// CLIENT LIST and the logs show the client's name.
func ExampleOpts_clientName() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	opts := redisconn.Opts{ClientName: "visits-7"}
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(ctx, server.Addr(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	name, err := redis.As[string](redis.SyncCtx{S: conn}.Do(ctx, "CLIENT GETNAME"))
	fmt.Println(name, err)
	// Output:
	// visits-7 <nil>
}

// If the server is not trusted, small limits bound what the client accepts from it.
func ExampleOpts_limits() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	opts := redisconn.Opts{
		Integrity: true, // hold replies back until the fence of their batch is answered
		Limits: redis.Limits{
			Line: 4 << 10, Bulk: 1 << 20, // bytes
			Elements: 10_000, // in one array
			Depth:    8,
		},
		MaxRequests: 10_000,
		MaxBytes:    16 << 20,
	}
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(ctx, server.Addr(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := redis.SyncCtx{S: conn}
	fmt.Println(client.Do(ctx, "SETRANGE", "large", 2<<20, "."))
	failure := redis.AsErrorx(client.Do(ctx, "GET", "large"))
	fmt.Println(failure.IsOfType(redis.ErrIO), errorx.IsOfType(failure.Cause(), redis.ErrResponseTooLarge))
	// Output:
	// 2097153
	// true true
}

// The text of an error shows the command and sizes. The request itself is a property of the error.
func ExampleRequest_secrets() {
	server := exampleServer()
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	res := redis.Sync{S: conn}.Do("AUTH", "alice", "s3cret")
	failure := redis.AsErrorx(res)
	req, _ := failure.Property(redis.EKRequest)
	fmt.Println(req)
	fmt.Println(len(req.(redis.Request).Args), "arguments, for who asks")
	// Output:
	// Req("AUTH", 2 args, 0 keys, 15 bytes)
	// 2 arguments, for who asks
}
