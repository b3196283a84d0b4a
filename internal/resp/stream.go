package resp

import (
	"io"

	"github.com/joomcode/redispipe/internal/errs"
)

// DecodeTo reads the next reply. If that is a bulk string, the string is written to w
// as it arrives, and its length is the result (int64). Any other reply is returned as
// by Decode. An error of w is an [ErrIO], after which the decoder can't be used any
// more.
func (d *Decoder) DecodeTo(w io.Writer) (any, error) {
	d.size = 0
	h, line, err := d.begin(0)
	if err != nil {
		return nil, err
	}
	if h.kind != '$' || h.form != ofText {
		return d.rest(h, line, 0)
	}
	m, err := io.CopyN(w, d.r, int64(h.n))
	d.size += int(m)
	switch err {
	case nil:
		return int64(h.n), d.end()
	case io.EOF:
		return nil, d.ioError(err)
	}
	return nil, errs.ErrIO.Wrap(err, "streaming a reply")
}
