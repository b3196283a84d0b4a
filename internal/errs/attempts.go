package errs

import "github.com/joomcode/errorx"

// Attempts is what is known of a request that is sent more than once. Whoever sends one again keeps
// it, so that a last attempt that was not sent does not hide that an earlier one may have run. Its
// zero value is that of a request that no attempt was made to send. It is not safe for concurrent use.
type Attempts struct {
	unknown *errorx.Error // of the first attempt that may have run
}

// Failed notes how an attempt ended, behind which the request is sent again.
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

// Result returns the error of the request, whose last attempt ended with err: if that was not sent,
// the error of the first attempt that may have run. An answer tells of that one by EKEarlier, in case
// the request is sent again because of it.
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
