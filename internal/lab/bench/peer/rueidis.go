package peer

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

var rueidisDefault = Driver{
	Name: "rueidis", Module: "github.com/redis/rueidis", How: "default options",
	Shared: true, Pipelines: true,
	Open: func(o Options) (Client, error) { return openRueidis(o, 0) },
}

var rueidisDelay = Driver{
	Name: "rueidis 20µs", Module: "github.com/redis/rueidis", How: "MaxFlushDelay 20 µs, as its documentation advises",
	Shared: true,
	Open:   func(o Options) (Client, error) { return openRueidis(o, 20*time.Microsecond) },
}

func openRueidis(o Options, delay time.Duration) (Client, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: o.Addrs, ForceSingleClient: !o.Cluster,
		TLSConfig: o.TLS, MaxFlushDelay: delay,
	})
	if err != nil {
		return nil, err
	}
	return rueidisClient{c}, nil
}

type rueidisClient struct{ c rueidis.Client }

func (c rueidisClient) Set(ctx context.Context, key string, value []byte) error {
	return c.c.Do(ctx, c.c.B().Set().Key(key).Value(rueidis.BinaryString(value)).Build()).Error()
}

func (c rueidisClient) Get(ctx context.Context, key string) ([]byte, error) {
	return c.c.Do(ctx, c.c.B().Get().Key(key).Build()).AsBytes()
}

func (c rueidisClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	batch := make(rueidis.Commands, 0, 2*len(keys))
	for _, k := range keys {
		batch = append(batch,
			c.c.B().Set().Key(k).Value(rueidis.BinaryString(value)).Build(),
			c.c.B().Get().Key(k).Build())
	}
	right := 0
	for i, r := range c.c.DoMulti(ctx, batch...) {
		if err := r.Error(); err != nil {
			return right, err
		}
		if i%2 == 0 {
			right++
		} else if b, err := r.AsBytes(); err == nil && len(b) == len(value) {
			right++
		}
	}
	return right, nil
}

func (c rueidisClient) Close() { c.c.Close() }
