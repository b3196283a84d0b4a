package redis

// Push is what a server sends without a request: a message of a channel, the
// confirmation of a subscription, the invalidation of keys.
type Push struct {
	// Words are the strings at its beginning: its kind, which is always there, and all
	// other elements but the last. They are valid until the next push is decoded.
	Words [][]byte
	// Body is the last element behind the kind, if that is a string. The caller may
	// retain it.
	Body []byte
	// Rest is the last element behind the kind, if that is not a string.
	Rest any

	scratch []byte // what Words point to
}

// maxPushElements bounds the elements of a push. The longest that servers send is the
// message of a pattern, with four.
const maxPushElements = 8

// DecodePush reads what comes next. If that is a push, it fills p and pushed is true;
// otherwise it returns a reply. With RESP2 every array counts as a push, since servers
// send pushes to connections with subscriptions in this form. After an error the
// decoder can't be used any more.
func (d *Decoder) DecodePush(p *Push) (reply any, pushed bool, err error) {
	d.size = 0
	head, err := d.r.Peek(1)
	for err == nil && head[0] == '|' && !d.resp2 { // an attribute says nothing
		if _, err := d.frame(0); err != nil {
			return nil, false, err
		}
		head, err = d.r.Peek(1)
	}
	if err != nil {
		return nil, false, d.ioError(err)
	}
	if kind := head[0]; kind != '>' && (kind != '*' || !d.resp2) {
		reply, err = d.value(0)
		return reply, false, err
	}
	line, err := d.line()
	if err != nil {
		return nil, false, err
	}
	if d.resp2 && line[0] == '>' {
		return nil, false, errLine(ErrUnknownHeaderType, line)
	}
	n, err := d.length(line, maxPushElements)
	if err != nil {
		return nil, false, err
	}
	if n < 1 {
		return nil, false, ErrResponseFormat.New("push without a kind")
	}
	p.Words, p.scratch, p.Body, p.Rest = p.Words[:0], p.scratch[:0], nil, nil
	for range max(1, n-1) {
		if err := d.word(p); err != nil {
			return nil, false, err
		}
	}
	if n > 1 {
		err = d.last(p)
	}
	return nil, err == nil, err
}

// word reads an element that has to be a string.
func (d *Decoder) word(p *Push) error {
	line, err := d.line()
	if err != nil {
		return err
	}
	if line[0] != '$' {
		return ErrResponseFormat.New("push with an element that is not a string")
	}
	n, err := d.length(line, d.limits.Bulk)
	switch {
	case err != nil:
		return err
	case n < 0:
		return ErrResponseFormat.New("push with null instead of a string")
	case n > d.r.Size():
		word, err := d.body(n)
		p.Words = append(p.Words, word)
		return err
	}
	start := len(p.scratch)
	if n > 0 {
		word, err := d.r.Peek(n)
		if err != nil {
			d.size += len(word)
			return d.ioError(err)
		}
		p.scratch = append(p.scratch, word...) // what is moved stays valid where it was
		d.size += n
		_, _ = d.r.Discard(n)
	}
	p.Words = append(p.Words, p.scratch[start:])
	return d.crlf()
}

// last reads the last element.
func (d *Decoder) last(p *Push) error {
	head, err := d.r.Peek(1)
	if err != nil {
		return d.ioError(err)
	}
	if head[0] != '$' {
		p.Rest, err = d.value(1)
		return err
	}
	line, err := d.line()
	if err != nil {
		return err
	}
	n, err := d.length(line, d.limits.Bulk)
	if err != nil || n < 0 {
		return err
	}
	p.Body, err = d.body(n)
	return err
}
