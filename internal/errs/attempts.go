package errs

import "github.com/joomcode/errorx"

// Attempts records the earlier attempts of a request that is sent more than once. Each sender that
// sends a request again keeps one. If the last attempt was not sent, Attempts still knows that an
// earlier one may have run. The zero value stands for no attempts. It is not safe for concurrent
// use.
type Attempts struct {
	unknown *errorx.Error // the error of the first attempt that may have run
}

// Failed records how an attempt ended, before the request is sent again.
func (a *Attempts) Failed(err *errorx.Error) {
	if a.unknown != nil || err == nil {
		return
	}
	if earlier, ok := err.Property(EKEarlier); ok {
		a.unknown = earlier.(*errorx.Error)
	} else if OutcomeOf(err) == Unknown {
		a.unknown = err
	}
}

// MayHaveRun reports whether one of the attempts may have run.
func (a *Attempts) MayHaveRun() bool { return a.unknown != nil }

// Result returns the error of a request whose last attempt ended with err. If that attempt was not
// sent, it returns the error of the first attempt that may have run. If err is an answer, Result
// adds that first error to it as EKEarlier, because an outer sender may send the request again
// because of the answer.
func (a *Attempts) Result(err *errorx.Error) *errorx.Error {
	if a.unknown == nil {
		return err
	}
	switch OutcomeOf(err) {
	case NotSent:
		return a.unknown
	case Refused:
		return err.WithProperty(EKEarlier, a.unknown)
	}
	return err
}
