package resp

import "github.com/joomcode/redispipe/internal/errs"

// Push is a message that a server sends without a request: a message of a channel, the confirmation
// of a subscription, or the invalidation of keys.
type Push struct {
	// Words are the strings at the beginning of the push: first the kind of the push, which is
	// always there, then all elements except the last one. They are valid until the next push is
	// decoded.
	Words [][]byte
	// Body is the last element if it is a string and not the kind. The caller may retain it.
	Body []byte
	// Rest is the last element if it is neither a string nor the kind. If an earlier element is not
	// a string, Rest is a []any of that element and all after it.
	Rest any

	scratch []byte // Words point into it
}

// maxPushElements bounds the elements of a push. The longest push that servers send, the message of
// a pattern, has four.
const maxPushElements = 8

// DecodePush reads the next value. If the value is a push, DecodePush stores it in p and sets
// pushed. Otherwise it returns a reply. With RESP2 every array counts as a push, because that is
// how servers send pushes to connections with subscriptions. After an error the decoder can't be
// used any more.
func (d *Decoder) DecodePush(p *Push) (reply any, pushed bool, err error) {
	d.size = 0
	h, line, err := d.head(0)
	for err == nil && h.kind == '|' { // attributes are ignored
		if err = d.discard(h, 0); err == nil {
			h, line, err = d.head(0)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if h.kind != '>' && (h.kind != '*' || d.forms != &resp2) {
		reply, err = d.rest(h, line, 0)
		return reply, false, err
	}
	err = d.push(h, p)
	return nil, err == nil, err
}

func (d *Decoder) push(h header, p *Push) error {
	switch {
	case h.n > maxPushElements:
		return bad(errs.ErrResponseTooLarge, h.kind, "push of %d elements is over the limit of %d", h.n, maxPushElements)
	case h.n < 1:
		return bad(errs.ErrResponseFormat, h.kind, "push without a kind")
	}
	clear(p.Words) // words may be large, and the next push may have fewer
	p.Words, p.scratch, p.Body, p.Rest = p.Words[:0], p.scratch[:0], nil, nil
	for i := range h.n {
		el, line, err := d.begin(1)
		switch {
		case err != nil:
		case el.kind == '$' && el.form == ofText && i > 0 && i == h.n-1:
			p.Body, _, err = d.text(el, nil, true)
		case el.kind == '$' && el.form == ofText:
			err = d.word(p, el)
		case i == 0:
			err = bad(errs.ErrResponseFormat, el.kind, "push whose kind is not a string")
		default:
			p.Rest, err = d.others(el, line, h.n-i)
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// word reads an element that is a string.
func (d *Decoder) word(p *Push, h header) error {
	word, inBuffer, err := d.text(h, nil, false)
	if inBuffer {
		start := len(p.scratch)
		p.scratch = append(p.scratch, word...) // append may move the buffer; earlier words stay valid
		word = p.scratch[start:]
	}
	p.Words = append(p.Words, word)
	return err
}

// others reads the last n elements of a push. h is the header of the first of them. If n is 1,
// others returns the element itself.
func (d *Decoder) others(h header, line []byte, n int) (any, error) {
	first, err := d.rest(h, line, 1)
	if err != nil || n == 1 {
		return first, err
	}
	more, err := d.elements(n-1, 0)
	return append([]any{first}, more...), err
}
