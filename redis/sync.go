package redis

import (
	"context"
	"slices"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// Sync wraps a Sender so that a call waits for its result. It is safe for concurrent use;
// concurrent requests share batches. A call waits while the queue is full, and then until it is
// answered or the connection fails. A server that does not answer makes the connection fail after
// IOTimeout.
//
// For any error, [OutcomeOf] tells what happened to the request, and [SafeToRetry] reports whether
// you may send it again. If S is nil or a nil pointer, each call fails with an [ErrOpts] and is not
// sent.
type Sync struct {
	S Sender
}

// Do sends a command and returns its result, which is an *errorx.Error if the
// request failed: see AsError. It does not retain arguments.
func (s Sync) Do(cmd string, args ...any) any {
	return do(context.Background(), s.S, cmd, args, nil, nil)
}

// Send sends a request and returns its result.
func (s Sync) Send(r Request) any { return s.Do(r.Cmd, r.Args...) }

// SendMany sends the requests as one batch and returns their results in order. Check each result
// for an error.
func (s Sync) SendMany(reqs []Request) []any {
	return sendMany(context.Background(), s.S, reqs, nil)
}

// SendTransaction sends requests between MULTI and EXEC and returns their results, or the error
// that left it without results. After an error with ErrTraitNotSent, or of type ErrExecAbort,
// nothing ran. After ErrIO, the transaction ran as a whole or not at all. After [ErrTransaction],
// its requests may have run one by one.
//
// The error is nil if EXEC returned results, some of which may be errors. [Sync.Transact] also
// checks each result.
func (s Sync) SendTransaction(reqs []Request) ([]any, error) {
	return sendTransaction(context.Background(), s.S, reqs, nil)
}

// Transact is like [Sync.SendTransaction], but if any of the requests failed, it also returns a
// *[ResultError] with the first failure, together with all results. The other requests have run, so
// never send the transaction again after a *ResultError. With any other error there are no results.
func (s Sync) Transact(reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(reqs))
}

// Scanner returns an iterator over keys, or over the elements of a key.
func (s Sync) Scanner(opts ScanOpts) SyncIterator {
	return SyncIterator{s: known(s.S).Scanner(opts)}
}

// SyncIterator waits for the batches of a Scanner.
type SyncIterator struct {
	s Scanner
}

// Next returns the next batch, which may be empty. The error is ScanEOF at the end.
func (s SyncIterator) Next() ([]string, error) {
	return scanNext(context.Background(), s.s, nil)
}

func scanNext(ctx context.Context, s Scanner, seen *send.Server) ([]string, error) {
	if r, ok := s.(*retryingScanner); ok {
		return r.next(ctx, seen)
	}
	if h, ok := s.(*hookedScanner); ok {
		o := h.begin(ctx)
		var place send.Server
		keys, err := scanNext(ctx, h.s, &place)
		o.end(resultOf(keys, err), place, seen)
		return keys, err
	}
	if s == nil {
		s = nobody{}
	}
	step := stepOf(s) // a step whose caller has left is continued, so step may change
	if ctx.Done() != nil && ctx.Err() != nil {
		return nil, errs.AsError(traced(ofStep(errs.Withdrawn(ctx), step)))
	}
	w := newWaiter(nil)
	w.observed = seen != nil
	s.Next(w)
	switch res := w.result(ctx, send.Ticket{}, nil, seen).(type) {
	case []string:
		return res, nil
	case error:
		if res == ScanEOF {
			return nil, ScanEOF
		}
		return nil, errs.AsError(traced(ofStep(res, step)))
	default:
		return nil, errs.ErrResponseUnexpected.New("scanner answered with %T", res)
	}
}

// SyncCtx wraps a Sender so that a call waits for its result, or until its context is done. It is
// safe for concurrent use.
//
// If the context ends first, the error is of type ErrRequestCancelled. If it has the trait
// ErrTraitNotSent, the request was withdrawn before it was written; otherwise it may have run.
// [SafeToRetry] tells these cases apart, and [DelayOf] tells where the time was spent. With a nil
// context the error is ErrContextIsNil, and nothing is sent. With a nil S it is an [ErrOpts].
//
// A call returns at once when its deadline passes. It notices a cancellation within two
// milliseconds, or under load within three times the time that requests take.
type SyncCtx struct {
	S Sender
}

// Do sends a command and returns its result, which is an *errorx.Error if the
// request failed: see AsError. It does not retain arguments.
func (s SyncCtx) Do(ctx context.Context, cmd string, args ...any) any {
	// do checks for a nil context, so that Do is small enough to be inlined: the stack of a
	// waiting caller then has one frame less.
	return do(ctx, s.S, cmd, args, nil, nil)
}

// Send sends a request and returns its result.
func (s SyncCtx) Send(ctx context.Context, r Request) any { return s.Do(ctx, r.Cmd, r.Args...) }

// SendMany sends the requests as one batch and returns their results in order. When the
// context ends, each unanswered request gets an ErrRequestCancelled.
func (s SyncCtx) SendMany(ctx context.Context, reqs []Request) []any {
	if ctx == nil {
		return withRequests(slices.Repeat([]any{errs.NilContext()}, len(reqs)), reqs)
	}
	return sendMany(ctx, s.S, reqs, nil)
}

// SendTransaction is Sync.SendTransaction with a context. If the context ends, the transaction may
// have run (as a whole) or not.
func (s SyncCtx) SendTransaction(ctx context.Context, reqs []Request) ([]any, error) {
	if ctx == nil {
		return nil, errs.NilContext()
	}
	return sendTransaction(ctx, s.S, reqs, nil)
}

// Transact is [Sync.Transact] with a context.
func (s SyncCtx) Transact(ctx context.Context, reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(ctx, reqs))
}

// Scanner returns an iterator that ends with the context.
func (s SyncCtx) Scanner(ctx context.Context, opts ScanOpts) SyncCtxIterator {
	return SyncCtxIterator{ctx: ctx, s: known(s.S).Scanner(opts)}
}

// SyncCtxIterator waits for the batches of a Scanner, or for the end of a context.
type SyncCtxIterator struct {
	ctx context.Context
	s   Scanner
}

// Next returns the next batch, which may be empty. The error is ScanEOF at the end. After an
// ErrRequestCancelled the iterator can't be used any more.
func (s SyncCtxIterator) Next() ([]string, error) {
	if s.ctx == nil {
		return nil, errs.NilContext()
	}
	return scanNext(s.ctx, s.s, nil)
}

// DoInto sends a command and reads its reply into dst, a pointer to a variable of any type that
// [As] accepts. A *[]byte (whose capacity is reused), *string, *int64, *float64 or *bool is decoded
// straight from the read buffer. The reply to HMGET is read by the names of the requested fields.
//
// DoInto returns the error of the request, or of As. If no reply can be read into the type of dst,
// it returns an [ErrArgumentType], and nothing is sent. After an error the variable is unchanged,
// except for a []byte: the connection uses its buffer during the call, so the []byte is empty
// afterwards, or nil if the context ended.
func (s Sync) DoInto(dst any, cmd string, args ...any) error {
	return doInto(context.Background(), s.S, dst, cmd, args)
}

// DoInto is Sync.DoInto with a context.
func (s SyncCtx) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	return doInto(ctx, s.S, dst, cmd, args)
}

func doInto(ctx context.Context, s Sender, dst any, cmd string, args []any) error {
	v, err := values.VariableOf(dst)
	if err != nil {
		return errs.Err(err)
	}
	t := target{Scalar: resp.Scalar{Kind: v.Kind}}
	var buf *[]byte
	if t.Kind == resp.Bytes {
		buf = dst.(*[]byte)
		t.Bytes, *buf = (*buf)[:0], nil
	}
	res := do(ctx, s, cmd, args, &t, nil)
	if _, failed := res.(error); t.filled && !failed {
		t.Store(dst)
		return nil
	}
	if buf != nil {
		*buf = t.Bytes[:0]
	}
	return readInto(v, res, cmd, args)
}

// target holds a single value. It belongs to the waiter until the caller takes it, so a late reply
// can't touch the caller's memory.
type target struct {
	resp.Scalar      // its Bytes belong to the caller
	filled      bool // the Scalar has the value, the result has not
}

// recall returns the result of an encoded request, if m remembers it. If t is not nil and takes the
// value, the value is in t.
func recall(m send.Memory[Future], request []byte, t *target, seen *send.Server) (res any, ok bool) {
	got, ok := m.Recall(request)
	switch {
	case !ok:
		return nil, false
	case seen != nil:
		*seen = send.Server{Cached: true}
	}
	switch {
	case !got.IsText:
		return got.Result, true
	case t != nil && t.SetText(got.Text):
		t.filled = true
		return nil, true
	}
	return []byte(got.Text), true
}

// do sends one command and waits for its result. If t is not nil, the value may be in t instead of
// the result. If seen is not nil, do sets it to the server that answered. do keeps no reference to
// args.
func do(ctx context.Context, s Sender, cmd string, args []any, t *target, seen *send.Server) any {
	if ctx == nil {
		return traced(withRequest(errs.NilContext(), cmd, args))
	}
	to := new(opened)
	r, retries := s.(*retrying)
	if retries {
		if to = &r.opened; r.Counter == nil {
			r.Sample(1)
		}
	} else {
		*to = open(s)
	}
	h, observed := to.Sender.(*hooked)
	if !observed && ctx.Err() != nil {
		return traced(withRequest(errs.Withdrawn(ctx), cmd, args))
	}
	var (
		y        *retry
		attempts errs.Attempts // attempts that were taken back from stalled servers
	)
	for {
		var res any
		if observed {
			res = h.do(ctx, cmd, args, t, seen)
		} else {
			res = sendAndWait(ctx, to, cmd, args, t, seen)
		}
		err, failed := res.(error)
		switch {
		case !failed || observed && !retries:
			return res
		case moved(res, &attempts):
			continue
		}
		again, err := awaitCapacity(ctx, err)
		if !again && attempts.MayHaveRun() {
			err = attempts.Result(errs.AsErrorx(err))
		}
		if !again && retries {
			y, err = r.after(ctx, y, err, r.nature(cmd, args))
			if again = y != nil; again && y.suspect() {
				if res, alone := r.doAlone(ctx, y, cmd, args, seen); alone {
					return res
				}
			}
		}
		if !again {
			return traced(withRequest(err, cmd, args))
		}
	}
}

// do is the function do, with hooks. It is a separate function, so that without hooks the stack of
// a waiting caller stays small.
func (h *hooked) do(ctx context.Context, cmd string, args []any, t *target, seen *send.Server) any {
	o := begin(ctx, &h.observer, requestOperation(cmd, args))
	var place send.Server
	res := do(ctx, h.s, cmd, args, t, &place)
	o.end(res, place, seen)
	return res
}

// DoAs sends a command and returns its result as a T, of any type that [As] accepts: see
// [Sync.DoInto]. After an error it returns the zero value. It allocates nothing for an int64, a
// float64 or a bool, and only the text for a string.
func DoAs[T any](ctx context.Context, s Sender, cmd string, args ...any) (T, error) {
	var result T
	if scalar, err := doScalar(ctx, s, &result, cmd, args...); scalar {
		return result, err
	}
	allocated := new(T)
	err := SyncCtx{S: s}.DoInto(ctx, allocated, cmd, args...)
	return *allocated, err
}

// doScalar is [SyncCtx.DoInto] for a *[]byte, *string, *int64, *float64 or *bool. It does not
// retain dst, so the variable may be on its caller's stack. After an error the variable is zero.
// For another type doScalar returns false and sends nothing.
func doScalar(ctx context.Context, s Sender, dst any, cmd string, args ...any) (scalar bool, err error) {
	t := target{Scalar: resp.Scalar{Kind: resp.KindOf(dst)}}
	if t.Kind == resp.NoKind {
		return false, nil
	}
	res := do(ctx, s, cmd, args, &t, nil)
	if _, failed := res.(error); !t.filled || failed {
		t.Scalar, err = readScalar(t.Kind, res, cmd, args)
	}
	t.Store(dst)
	return true, err
}

// readScalar is a separate function because its result must be on the heap.
func readScalar(kind resp.Kind, res any, cmd string, args []any) (resp.Scalar, error) {
	one := resp.Scalar{Kind: kind}
	err := values.Assign(one.Place(), res)
	return one, ofRequest(err, cmd, args)
}

// readInto reads the result of a request into v, and leaves v unchanged if that fails. The result
// of HMGET has only values. Their names are in the request.
func readInto(v values.Variable, res any, cmd string, args []any) error {
	if call := command.Of(cmd, args); v.Named() && call.Named("HMGET") {
		fields := args[min(len(args), max(0, call.FirstKey()+1)):] // Cmd may contain the key, as in "HMGET key"
		res = Zip(values.CloneArgs(fields), res)
	}
	return ofRequest(v.Read(res), cmd, args)
}
