package replies

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/send"
)

// addPrefix adds the prefix to the requests of f. It returns an error for a request whose keys it does not
// know; the writer has refused such requests before.
func (f *Flight) addPrefix() error {
	text, size := f.to.terms.Prefix, 0
	for i := range f.Reqs {
		size += len(f.Reqs[i].Buf) + len(text) + len("$12345")
	}
	room := make([]byte, 0, size)
	for i := range f.Reqs {
		r := &f.Reqs[i]
		shared := r.Shared
		var names prefix.Names
		var err *errorx.Error
		if room, names, err = text.Encoded(room[len(room):], r, r.Slot != send.NoSlot); err != nil {
			return err
		}
		r.Shared = shared // the writer may have changed it
		if names != prefix.NoNames && f.names == nil {
			f.names = make([]prefix.Names, len(f.Reqs))
		}
		if f.names != nil {
			f.names[i] = names
		}
	}
	if last := len(f.Reqs) - 1; f.whole && f.names != nil {
		f.Reqs[last].Typed = false // strip needs the results of the transaction
	}
	return nil
}

// strip removes the prefix from the names in the result of request n.
func (f *Flight) strip(n int, res any) any {
	last := len(f.names) - 1
	switch {
	case f.names == nil:
		return res
	case f.whole && n == last:
		return f.to.terms.Prefix.StripEach(f.names[1:last], res)
	}
	return f.to.terms.Prefix.Strip(f.names[n], res)
}
