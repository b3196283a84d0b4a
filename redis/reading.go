package redis

import "context"

// Command is anything that makes a request, such as the types of package cmd. A [Request] is a
// Command.
type Command interface {
	// Request returns the request. It may be called more than once.
	Request() Request
}

// Request implements [Command].
func (r Request) Request() Request { return r }

// RequestOf returns a request. cmd is the command's name, followed by its arguments, or a
// [Command] without arguments. For anything else the error is an [ErrCommandFormat].
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
// for [Batch]. The variable may be of any type that [As] accepts.
func (r Request) Into(dst any) Reading { return Reading{r, dst} }

// Reading is a request with the variable that its result is to be read into: see
// [Request.Into].
type Reading struct {
	request Request
	dst     any
}

// Request implements [Command].
func (r Reading) Request() Request { return r.request }

// Batch sends commands at once, as [SyncCtx.SendMany] does. It reads the result of each
// [Reading] into its variable; for other commands it accepts any result that is not an error.
//
// If a command fails, or its result can't be read, Batch returns a *[BatchError], which has the
// error of each command; the variables of the others are set. [SafeToRetry] of one of its
// errors says whether that command can be sent again. If a variable has a type that no reply
// can be read into, Batch returns an [ErrArgumentType], and nothing is sent.
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
