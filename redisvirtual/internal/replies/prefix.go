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
		shared, typed := r.Shared, r.Typed
		var names prefix.Names
		var err *errorx.Error
		if room, names, err = text.Encoded(room[len(room):], r, r.Slot != send.NoSlot); err != nil {
			return err
		}
		r.Shared, r.Typed = shared, typed // the writer may have changed Shared; strip takes the bytes of the reply
		if names != prefix.NoNames && f.names == nil {
			f.names = make([]prefix.Names, len(f.Reqs))
		}
		if f.names != nil {
			f.names[i] = names
		}
	}
	return nil
}
