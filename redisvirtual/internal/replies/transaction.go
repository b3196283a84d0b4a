package replies

import (
	"bytes"
	"slices"

	"github.com/joomcode/redispipe/redis"
)

// Transaction says that the requests of f are MULTI to EXEC, and that the client was told the first
// of the replies.
func (f *Flight) Transaction(told int) { f.whole, f.told, f.read = true, told, told }

// judge judges the reply to EXEC by that to MULTI, which the client was told to be OK. If the server
// has refused MULTI and all requests behind it, that is the reply; if one of them has run by itself,
// nobody knows what has. If it has refused a request of which the client was told that it is queued,
// the reply says why, in the words in which Redis says why it refuses an EXEC.
func (f *Flight) judge(exec *reply, res any) {
	switch {
	case exec.lost != nil:
		return
	case !exec.framed && res == nil && f.to.terms.Protocol == 2: // of an array, which clients expect
		exec.frame = append(exec.frame[:0], "*-1\r\n"...)
	}
	multi := &f.replies[0]
	if f.told == 0 {
		return
	}
	if !refused(multi) {
		if told := f.replies[:min(f.told, len(f.replies)-1)]; bytes.HasPrefix(exec.frame, []byte("-EXECABORT ")) {
			if i := slices.IndexFunc(told, func(r reply) bool { return refused(&r) }); i >= 0 {
				exec.frame = append(append(exec.frame[:0], "-EXECABORT Transaction discarded because of: "...), told[i].frame[1:]...)
			}
		}
		return
	}
	for i := range f.replies[:len(f.replies)-1] {
		if !refused(&f.replies[i]) {
			exec.lost = redis.ErrTransaction.New("MULTI was refused, and what followed it was not")
			return
		}
	}
	exec.frame = append(exec.frame[:0], multi.frame...)
}

func refused(r *reply) bool { return len(r.frame) > 0 && r.frame[0] == '-' }
