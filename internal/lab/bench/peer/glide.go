//go:build glide && cgo

package peer

import (
	"context"
	"fmt"
	"net"
	"strconv"

	glide "github.com/valkey-io/valkey-glide/go/v2"
	"github.com/valkey-io/valkey-glide/go/v2/config"
	"github.com/valkey-io/valkey-glide/go/v2/models"
)

func init() {
	registered = append(registered, Driver{
		Name: "valkey-glide", Module: "github.com/valkey-io/valkey-glide/go/v2", How: "default options (cgo)",
		Shared: true, NoTLS: true, Open: openGlide,
	})
}

// glideCommands is what its two kinds of client share.
type glideCommands interface {
	Set(ctx context.Context, key, value string) (string, error)
	Get(ctx context.Context, key string) (models.Result[string], error)
	Close()
}

func openGlide(o Options) (Client, error) {
	cluster, single := config.NewClusterClientConfiguration(), config.NewClientConfiguration()
	for _, a := range o.Addrs {
		host, portText, err := net.SplitHostPort(a)
		if err != nil {
			return nil, err
		}
		port, err := strconv.Atoi(portText)
		if err != nil {
			return nil, err
		}
		cluster.WithAddress(&config.NodeAddress{Host: host, Port: port})
		single.WithAddress(&config.NodeAddress{Host: host, Port: port})
	}
	var c glideCommands
	var err error
	if o.Cluster {
		c, err = glide.NewClusterClient(cluster)
	} else {
		c, err = glide.NewClient(single)
	}
	if err != nil {
		return nil, err
	}
	return glideClient{c}, nil
}

type glideClient struct{ c glideCommands }

func (c glideClient) Set(ctx context.Context, key string, value []byte) error {
	_, err := c.c.Set(ctx, key, viewString(value))
	return err
}

func (c glideClient) Get(ctx context.Context, key string) ([]byte, error) {
	r, err := c.c.Get(ctx, key)
	if err == nil && r.IsNil() {
		err = fmt.Errorf("%w: nil", ErrWrong)
	}
	return []byte(r.Value()), err
}

func (c glideClient) Close() { c.c.Close() }
