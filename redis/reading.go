package redis

import "context"

// Command is a request that is made elsewhere, as those of package cmd are. A [Request] is one
// itself.
type Command interface {
	// Request returns the request. It may be called more than once.
	Request() Request
}

// Request implements [Command].
func (r Request) Request() Request { return r }

// RequestOf returns the request of a command's name with its arguments, or of a [Command] alone.
// For anything else the error is an [ErrCommandFormat].
func RequestOf(cmd any, args ...any) (Request, error) {
	switch c := cmd.(type) {
	case string:
		return Req(c, args...), nil
	case Command:
		if len(args) == 0 {
			return c.Request(), nil
		}
	}
	return Request{}, ErrCommandFormat.New("neither a command's name nor a command: a %T with %s", cmd, plural(len(args), "argument"))
}

// Into returns the request with a pointer to the variable that its result is to be read into,
// of any type that [As] accepts, for [Batch].
func (r Request) Into(dst any) Reading { return Reading{r, dst} }

// Reading is a request with the variable that its result is to be read into: see
// [Request.Into].
type Reading struct {
	request Request
	dst     any
}

// Request implements [Command].
func (r Reading) Request() Request { return r.request }

// Batch sends commands at once, as [SyncCtx.SendMany] does, and reads the results of those that
// are a [Reading] into their variables; of the others any result without an error is accepted.
//
// If some of them failed, or their results can't be read, the error is a *[BatchError], which
// has the error of each; the variables of the others are set. If no reply can be read into a
// variable, it is an [ErrArgumentType], and nothing is sent. [SafeToRetry] of an error says whether that request can be sent again.
func Batch(ctx context.Context, s Sender, cmds ...Command) error {
	reqs, dsts := make([]Request, len(cmds)), make([]any, len(cmds))
	for i, c := range cmds {
		reqs[i] = c.Request()
		if r, reads := c.(Reading); reads {
			dsts[i] = r.dst
		}
	}
	if err := checkTargets(dsts); err != nil {
		return err
	}
	return Collect(reqs, SyncCtx{S: s}.SendMany(ctx, reqs), dsts...)
}
