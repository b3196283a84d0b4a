package queue

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Request decodes the request of the plain item of index i, so that an error can name it:
// the caller may have changed the arguments since.
func (b *Batch) Request(i int) redis.Request { return RequestOf(b.Bytes(i)) }

// Bytes returns the encoded request of a plain item, as long as it is not answered.
func (b *Batch) Bytes(i int) []byte { return b.Buf[b.begin(i):b.Items[i].end] }

// RequestOf makes a request of an encoded one.
func RequestOf(encoded []byte) redis.Request {
	r := wire.Request{Buf: encoded}
	r.Cmd = string(r.Arg(0))
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}

// NameElements adds the requests of a transaction to the errors among its results. i is
// the index of EXEC, res the answer to it.
func (b *Batch) NameElements(i int, res any) {
	results, ok := res.([]any)
	if !ok || len(results) > i {
		return
	}
	first := i - len(results)
	for j, el := range results {
		if err, failed := el.(*errorx.Error); failed && b.Items[first+j].Plain {
			results[j] = err.WithProperty(redis.EKRequest, b.Request(first+j))
		}
	}
}
