package peer

import (
	"context"
	"crypto/tls"
	"unsafe"

	"github.com/mediocregopher/radix/v4"
)

var radixPool = Driver{
	Name: "radix", Module: "github.com/mediocregopher/radix/v4",
	How: "Pool of 4 shared connections, default options", Shared: true, Pipelines: true,
	Open: func(o Options) (Client, error) {
		ctx := context.Background()
		var cfg radix.PoolConfig
		if o.TLS != nil {
			cfg.Dialer.NetDialer = &tls.Dialer{Config: o.TLS}
		}
		if o.Cluster {
			c, err := radix.ClusterConfig{PoolConfig: cfg}.New(ctx, o.Addrs)
			return radixClient{c, c.Close}, err
		}
		c, err := cfg.New(ctx, "tcp", o.Addrs[0])
		if err != nil {
			return nil, err
		}
		return radixClient{c, c.Close}, nil
	},
}

type radixClient struct {
	do interface {
		Do(context.Context, radix.Action) error
	}
	close func() error
}

func (c radixClient) Set(ctx context.Context, key string, value []byte) error {
	return c.do.Do(ctx, radix.Cmd(nil, "SET", key, viewString(value)))
}

func (c radixClient) Get(ctx context.Context, key string) ([]byte, error) {
	var b []byte
	err := c.do.Do(ctx, radix.Cmd(&b, "GET", key))
	return b, err
}

func (c radixClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	p := radix.NewPipeline()
	values := make([][]byte, len(keys))
	for i, k := range keys {
		p.Append(radix.Cmd(nil, "SET", k, viewString(value)))
		p.Append(radix.Cmd(&values[i], "GET", k))
	}
	if err := c.do.Do(ctx, p); err != nil {
		return 0, err
	}
	right := 0
	for _, v := range values {
		if len(v) == len(value) {
			right += 2
		}
	}
	return right, nil
}

func (c radixClient) Close() { _ = c.close() }

// viewString returns the bytes as a string without a copy, for clients that take only strings.
// Their users would not copy either. The bytes never change.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
