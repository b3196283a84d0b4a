package replies

import (
	"bytes"
	"slices"

	"github.com/joomcode/redispipe/redis"
)

// Transaction marks the requests of f as a transaction, from MULTI to EXEC. told is the number of replies
// that the library has already given to the client.
func (f *Flight) Transaction(told int) { f.whole, f.told, f.read = true, told, told }

// judge corrects the reply to EXEC if the library has already given the client OK for MULTI, and perhaps
// QUEUED for requests. There are three cases. If the server has refused MULTI and all requests after it, the
// refusal of MULTI becomes the reply. If the server has refused MULTI, but not all of the requests, some
// have run alone, and the outcome is unknown. If the server has refused a request for which the client has
// got QUEUED, the reply contains the reason, in the form that Redis uses for a refused EXEC.
func (f *Flight) judge(exec *reply, res any) {
	switch {
	case exec.lost != nil:
		return
	case !exec.framed && res == nil && f.to.terms.Protocol == 2: // clients expect the null of an array
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
			exec.lost = redis.ErrTransaction.New("MULTI was refused, but a request after it was not")
			return
		}
	}
	exec.frame = append(exec.frame[:0], multi.frame...)
}

func refused(r *reply) bool { return len(r.frame) > 0 && r.frame[0] == '-' }
