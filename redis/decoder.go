package redis

import (
	"bufio"

	"github.com/joomcode/redispipe/internal/resp"
)

// Limits bound what a [Decoder] accepts. If a length exceeds its bound, the Decoder returns an
// error before it allocates anything. A field that is zero means the default.
type Limits struct {
	// Line is the maximum length of a header line in bytes, including CRLF. Default 64
	// KiB.
	Line int
	// Bulk is the maximum length of a string in bytes. Default 512 MiB, which is Redis'
	// own bound (proto-max-bulk-len).
	Bulk int
	// Elements is the maximum number of elements of one array, set, push or map (keys
	// plus values). Default 2^27.
	Elements int
	// Depth is the maximum nesting of aggregates. Default 128, at most 10,000. Deep
	// replies come only from Lua scripts, which can't pass 200 C calls.
	Depth int
}

// Decoder reads RESP2 and RESP3 replies. It is strict: an invalid reply is an error, never a value.
// Do not use a Decoder after Decode has returned an error. A Decoder is not safe for concurrent
// use. The zero Decoder has the default limits, and must be Reset before it can read.
type Decoder resp.Decoder

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r *bufio.Reader, limits Limits) *Decoder {
	return (*Decoder)(resp.NewDecoder(r, resp.Limits(limits)))
}

func (d *Decoder) codec() *resp.Decoder { return (*resp.Decoder)(d).Made() }

// Decode reads the next reply. If the server answered with an error, res is that error;
// err means that no reply could be read. Decode skips RESP3 pushes and attributes,
// because they answer no request.
func (d *Decoder) Decode() (res any, err error) { return d.codec().Decode() }

// Next waits for the start of a reply, skipping pushes, and returns its type ('+',
// '$', ...). It consumes nothing of the reply.
func (d *Decoder) Next() (byte, error) { return d.codec().Next() }

// Reset makes the decoder read from r, and drops its buffered data.
func (d *Decoder) Reset(r *bufio.Reader) { d.codec().Reset(r) }

// Buffered returns how many bytes can be decoded without reading.
func (d *Decoder) Buffered() int { return d.codec().Buffered() }

// Size returns the size of the last reply in bytes, including pushes that Decode skipped
// before it.
func (d *Decoder) Size() int { return d.codec().Size() }

// ReadResponse reads one response. It returns the result and the number of bytes that it consumed.
// If it could not read a response, the result is an error. A header line must fit into the reader's
// buffer; the other bounds are the defaults of [Limits].
func ReadResponse(r *bufio.Reader) (any, int) {
	d := resp.NewDecoder(r, resp.Limits{Line: r.Size()})
	res, err := d.Decode()
	if err != nil {
		res = err
	}
	return res, d.Size()
}

// Push is a message that a server sends without a request.
type Push resp.Push
