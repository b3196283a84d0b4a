package redisconn

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// request makes a request of what a plain item was encoded to, so that an error
// can name it: the caller may have changed its arguments since.
func (b *batch) request(i int) Request { return requestOf(b.bytes(i)) }

func requestOf(encoded []byte) Request {
	r := wire.Request{Buf: encoded}
	r.Cmd = string(r.Arg(0))
	return Request{Cmd: r.Cmd, Args: r.Args()}
}

// nameElements names the requests of a transaction in those of its results that
// are errors. i is the index of EXEC, and res what it answered.
func (b *batch) nameElements(i int, res any) {
	results, ok := res.([]any)
	if !ok || len(results) > i {
		return
	}
	first := i - len(results)
	for j, el := range results {
		if err, failed := el.(*errorx.Error); failed && b.items[first+j].plain {
			results[j] = err.WithProperty(redis.EKRequest, b.request(first+j))
		}
	}
}
