package h2h

import (
	"context"

	"github.com/mediocregopher/radix/v4"
)

var radixPool = entry{
	name: "radix", module: "github.com/mediocregopher/radix/v4",
	open: func(t target) (Subject, error) {
		// If a client never connects, that is an error here, not a hang.
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		c, err := radix.PoolConfig{}.New(ctx, "tcp", t.Addr)
		if err != nil {
			return nil, err
		}
		return radixSubject{c, c.Close}, nil
	},
}

type radixSubject struct {
	c interface {
		Do(context.Context, radix.Action) error
	}
	close func() error
}

func (s radixSubject) Do(ctx context.Context, args ...string) (any, error) {
	var res any
	err := s.c.Do(ctx, radix.Cmd(&res, args[0], args[1:]...))
	if e, ok := res.(error); ok && err == nil {
		return nil, e
	}
	return normal(res), err
}

func (s radixSubject) Close() { _ = s.close() }
