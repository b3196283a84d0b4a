package send

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
)

// Again is the decision whether a failed request may be sent again, with the reason.
type Again uint8

const (
	// AgainNever: the request may not be sent again. Its result is the error.
	AgainNever Again = iota
	// AgainUnsent: the request may be sent again, because it was not sent.
	AgainUnsent
	// AgainCrowded: the request was not sent, because a queue was too long. Sending it to the same
	// queue again does not help, but another server may have room.
	AgainCrowded
	// AgainBarred: the request was not sent, for a permanent reason, such as a wrong password.
	// Another server may take it.
	AgainBarred
	// AgainRefused: a server refused the request for a temporary reason, before it ran.
	AgainRefused
	// AgainTwice: the request may have run, but running it twice does no harm.
	AgainTwice
)

// Nature holds the properties of a request that decide, together with its error, whether it is sent again.
type Nature struct {
	Twice bool // running it twice does no harm
	Code  bool // it runs a script or a function, which may answer with any error after it has written
}

// NatureOf returns the nature of a request. It keeps no reference to args. If writes is set, a
// write also counts as harmless to run twice if the second run changes nothing more.
func NatureOf(cmd string, args []any, writes bool) Nature {
	call := command.Of(cmd, args)
	return Nature{call.RunsTwice(writes), call.RunsCode()}
}

// Nature returns the nature of the request. No write counts as harmless to run twice.
func (r *Request) Nature() Nature { return NatureOf(r.Cmd, r.Args(), false) }

// Together returns the nature of a transaction of n requests. of returns the nature of request i.
func Together(n int, of func(i int) Nature) Nature {
	for i := range n {
		if !of(i).Twice {
			return Nature{}
		}
	}
	return Nature{Twice: true}
}

// After decides for all senders whether a request of nature n may be sent again after an error. It
// does not handle redirects: only the code that follows redirects knows which node a request
// belongs to.
func (n Nature) After(err *errorx.Error) Again {
	switch {
	case err == nil, err.IsOfType(errs.ErrContextClosed), errs.Stays(err):
		return AgainNever
	case err.IsOfType(errs.ErrQueueFull), err.IsOfType(errs.ErrOverloaded):
		return AgainCrowded
	case err.IsOfType(errs.ErrRequestWithdrawn):
		return AgainUnsent
	case err.HasTrait(errs.ErrTraitTransient):
		if n.Code && !ownWords(err) {
			return AgainNever
		}
		return AgainRefused
	case err.IsOfType(errs.ErrExecAbort): // the cause of err is the reason why a request was not queued
		return n.After(errs.AsErrorx(err.Cause()))
	case err.IsOfType(errs.ErrIO) && n.Twice:
		return AgainTwice
	case !err.HasTrait(errs.ErrTraitNotSent), hopeless(err):
		return AgainNever
	case errs.PermanentCause(err) != nil:
		return AgainBarred
	}
	return AgainUnsent
}

// hopeless reports whether the request is wrong, or its sender is wrong or closed.
func hopeless(err *errorx.Error) bool {
	return errs.ErrRequest.IsNamespaceOf(err.Type()) || errs.ErrOpts.IsNamespaceOf(err.Type()) ||
		err.IsOfType(errs.ErrTopic) || err.IsOfType(errs.ErrPubSubClosed) ||
		err.IsOfType(errs.ErrGroupOpts) || err.IsOfType(errs.ErrGroupEntryID) || err.IsOfType(errs.ErrJobOpts)
}

// Sent reports whether a server may have received the request, so that sending it again is extra load.
func (a Again) Sent() bool { return a >= AgainRefused }

// Waits reports whether the same sender may send it again later.
func (a Again) Waits() bool { return a == AgainUnsent || a.Sent() }

// refusals are parts of the errors with which servers of all versions refuse a request before it
// runs. Scripts have no reason to return these texts.
var refusals = []string{
	" is loading the dataset in memory", " is busy running a script", "Multiple keys request during rehashing of slot",
	"CLUSTERDOWN Hash slot not served", "CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down",
	"READONLY You can't write against a read only ", "UNBLOCKED force unblock from blocking operation",
}

// ownWords reports whether an error has the text of a server's own error, and not that of a script.
// A REDIRECT contains only an address, so it may be a script's.
func ownWords(err *errorx.Error) bool {
	for _, words := range refusals {
		if strings.Contains(err.Message(), words) {
			return true
		}
	}
	return false
}
