package redis

import "io"

// resultEmpty is boxed once, as results that come often are.
var resultEmpty any = []byte{}

// A bulk string is read in steps, so that a length alone can't claim memory:
// the first step is this long, each further one doubles what has arrived. It
// is short of 64 KiB, which is what a length may cost with the error it ends in.
const bulkFirstStep = 56 << 10

// bulk reads a string whose length stands before it.
func (d *Decoder) bulk(kind byte, line []byte) (any, error) {
	n, err := d.length(line, d.limits.Bulk)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, nil
	}
	if n == 0 && kind == '$' {
		return resultEmpty, d.crlf()
	}
	body, err := d.body(n)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '=':
		if len(body) < 4 || body[3] != ':' {
			return nil, ErrResponseFormat.New("verbatim string has no format")
		}
		return string(body[4:]), nil
	case '!':
		return errorReply(string(body)), nil
	}
	return body, nil
}

// body reads n bytes and the CRLF behind them.
func (d *Decoder) body(n int) ([]byte, error) {
	body := make([]byte, min(n, bulkFirstStep))
	read := 0
	for {
		m, err := io.ReadFull(d.r, body[read:])
		d.size += m
		if err != nil {
			return nil, d.ioError(err)
		}
		read = len(body)
		if read == n {
			return body, d.crlf()
		}
		body = append(make([]byte, 0, min(n, 2*read)), body...)
		body = body[:cap(body)]
		if len(body) > n {
			body = body[:n]
		}
	}
}

// crlf reads what follows a string.
func (d *Decoder) crlf() error {
	end, err := d.r.Peek(2)
	if err != nil {
		d.size += len(end)
		return d.ioError(err)
	}
	if end[0] != '\r' || end[1] != '\n' {
		return ErrNoFinalRN.New("string is not followed by CRLF")
	}
	d.size += 2
	_, _ = d.r.Discard(2)
	return nil
}
