package redis

import (
	"context"
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Collect reads the results of requests, as SendMany and SendTransaction return them,
// into the variables that dsts point to, in order; see [As] for their types. If a dst
// is nil, or there are fewer dsts than results, any result without an error is
// accepted. Collect reads every result that can be read.
//
// If a result is an error or can't be read, Collect returns a *[BatchError], which has
// the error of each request. It returns an [ErrResponseUnexpected] if the numbers of
// results and requests differ, and an [ErrArgumentType] if there are more variables than
// requests, or if no reply can be read into a variable. In these two cases it reads nothing.
func Collect(reqs []Request, results []any, dsts ...any) error {
	switch {
	case len(results) != len(reqs):
		return errs.Err(errs.ErrResponseUnexpected.New("%d results of %d requests", len(results), len(reqs)))
	case len(dsts) > len(reqs):
		return errs.Err(errs.ErrArgumentType.New("%d variables for the results of %d requests", len(dsts), len(reqs)))
	}
	if err := checkTargets(dsts); err != nil {
		return err
	}
	var failed *BatchError
	for i, res := range results {
		err := errs.Of(res)
		switch {
		case err != nil:
			err = withRequest(err, reqs[i].Cmd, reqs[i].Args)
		case i < len(dsts) && dsts[i] != nil:
			v, _ := values.VariableOf(dsts[i])
			err = readInto(v, res, reqs[i].Cmd, reqs[i].Args)
		}
		if err != nil {
			if failed == nil {
				failed = &BatchError{Errors: make([]error, len(reqs))}
			}
			failed.Errors[i] = errs.Err(err)
		}
	}
	if failed != nil {
		return failed
	}
	return nil
}

// checkTargets returns an error if a variable has a type that no reply can be read into.
func checkTargets(dsts []any) error {
	for i, dst := range dsts {
		if _, err := values.VariableOf(dst); dst != nil && err != nil {
			return errs.Err(errs.Within(err, "variable %d", i))
		}
	}
	return nil
}

// Command is any value that has a request, such as the types of package cmd. A [Request] is a
// Command.
type Command interface {
	// Request returns the request. It may be called more than once.
	Request() Request
}

// Request implements [Command].
func (r Request) Request() Request { return r }

// RequestOf returns a request. cmd is the command's name, followed by its arguments, or a
// [Command] without arguments. For anything else, such as a nil pointer, the error is an
// [ErrCommandFormat].
func RequestOf(cmd any, args ...any) (Request, error) {
	switch c := cmd.(type) {
	case string:
		return Req(c, args...), nil
	case Command:
		if v := reflect.ValueOf(c); len(args) == 0 && (v.Kind() != reflect.Pointer || !v.IsNil()) {
			return c.Request(), nil
		}
	}
	return Request{}, ErrCommandFormat.New("neither a command's name nor a command: a %T with %s", cmd, plural(len(args), "argument"))
}

// Into returns the request with a pointer to the variable for its result,
// for [Batch]. The variable may be of any type that [As] accepts.
func (r Request) Into(dst any) Reading { return Reading{r, dst} }

// Reading is a request with the variable for its result: see [Request.Into].
type Reading struct {
	request Request
	dst     any
}

// Request implements [Command].
func (r Reading) Request() Request { return r.request }

func (r Reading) variable() any { return r.dst }

// Batch sends the commands as one batch, like [SyncCtx.SendMany]. It reads the result of each
// [Reading] into its variable; for other commands it accepts any result that is not an error.
//
// If a command fails, or its result can't be read, Batch returns a *[BatchError], which has the
// error of each command; the variables of the others are set. For each of
// its errors, [SafeToRetry] reports whether you may send that command again. If no reply can be
// read into the type of a variable, Batch returns an [ErrArgumentType], and for a nil command an
// [ErrCommandFormat]; in both cases it sends nothing.
func Batch(ctx context.Context, s Sender, cmds ...Command) error {
	reqs, dsts := make([]Request, len(cmds)), make([]any, len(cmds))
	for i, c := range cmds {
		var err error
		if reqs[i], err = RequestOf(c); err != nil {
			return errs.Err(errs.Within(err, "the command at index %d", i))
		}
		if r, reads := c.(interface{ variable() any }); reads { // r may also be a pointer to a Reading
			dsts[i] = r.variable()
		}
	}
	if err := checkTargets(dsts); err != nil {
		return err
	}
	return Collect(reqs, SyncCtx{S: s}.SendMany(ctx, reqs), dsts...)
}
