package redis

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
)

// Library is the source of a library of functions, which Redis has from 7.0 on. Servers store
// libraries on disk and replicate them, so call Load when the program starts. Create a Library
// once. It is safe for concurrent use.
type Library struct {
	src string

	mu      sync.Mutex // guards loading
	loading chan struct{}
}

// NewLibrary returns a library with the given source, which starts with "#!lua name=…".
func NewLibrary(src string) *Library { return &Library{src: src} }

// Load loads the library into every master, where it replaces a library of the same name (FUNCTION
// LOAD REPLACE). Replicas get it from their masters. A retry is safe. The error joins (errors.Join)
// one error for each master that failed; the others have the library.
func (l *Library) Load(ctx context.Context, to Sender) error {
	if l == nil {
		return errs.Err(errScript.New("the library is nil: NewLibrary makes one"))
	}
	return onShards(ctx, to, l.loadRequest(), func(any) error { return nil })
}

func (l *Library) loadRequest() Request { return Req("FUNCTION LOAD", "REPLACE", l.src) }

// Function returns a function of the library, which is called with FCALL.
func (l *Library) Function(name string) *Function { return &Function{l, name, "FCALL"} }

// ReadOnlyFunction returns a function with the flag no-writes. It is called with
// FCALL_RO; in a cluster the policy of the Sender may send it to replicas.
func (l *Library) ReadOnlyFunction(name string) *Function { return &Function{l, name, "FCALL_RO"} }

// Function is a function of a [Library].
type Function struct {
	lib       *Library
	name, cmd string
}

// maxFunctionRounds is how often a call loads the missing library. Usually once is enough, but
// somebody may flush the library at the same time.
const maxFunctionRounds = 4

// Do calls the function and returns its result, as [SyncCtx.Do] does. If a server lacks
// the function, Do loads the library into every master, once for all concurrent calls that need it,
// and calls the function again. If the library can't be loaded, the
// result is the error of the call. [SafeToRetry] reports whether a retry is safe, as with
// any request.
func (f *Function) Do(ctx context.Context, to Sender, keys []string, args ...any) any {
	r := f.Request(keys, args...)
	return f.until(ctx, to, func() any { return do(ctx, to, r.Cmd, r.Args, nil, nil) })
}

// DoInto calls the function as Do does, and reads its reply into dst, as
// [SyncCtx.DoInto] does.
func (f *Function) DoInto(ctx context.Context, to Sender, dst any, keys []string, args ...any) error {
	r := f.Request(keys, args...)
	return errs.Err(f.until(ctx, to, func() any { return doInto(ctx, to, dst, r.Cmd, r.Args) }))
}

// Request returns a request that calls the function, for batches and transactions. A
// server that lacks the function refuses it: see [Library.Load].
func (f *Function) Request(keys []string, args ...any) Request {
	if f == nil || f.lib == nil {
		return badRequest("FCALL", errScript.New("the function is nil or has no library: Library.Function makes one"), keys, args)
	}
	return callRequest(f.cmd, f.name, keys, args)
}

// until repeats a call until the server has the function.
func (f *Function) until(ctx context.Context, to Sender, call func() any) any {
	if ctx == nil {
		return errs.NilContext()
	}
	var attempts errs.Attempts
	for round := 0; ; round++ {
		res := call()
		err := errs.AsErrorx(res)
		if err != nil {
			res = attempts.Result(err)
		}
		if round == maxFunctionRounds || !isMissing(res) || !f.lib.reload(ctx, to) {
			return res
		}
		attempts.Failed(err)
	}
}

// isMissing reports whether a server has answered that it lacks a function. The error of a
// function that has run may start with the same text.
func isMissing(res any) bool {
	const answer = "ERR Function not found"
	err := errs.AsErrorx(res)
	if !errs.Says(err, answer) || err.Message() != answer {
		return false
	}
	_, cut := err.Property(errs.EKText)
	return !cut
}

// reload loads the library, or waits until another call has loaded it. It reports whether to make
// the call again, because it may succeed or return a more useful error: the end of ctx, or a lost
// connection.
func (l *Library) reload(ctx context.Context, to Sender) bool {
	l.mu.Lock()
	loading := l.loading
	if loading == nil {
		l.loading = make(chan struct{})
	}
	l.mu.Unlock()
	if loading != nil {
		select {
		case <-loading:
		case <-ctx.Done():
		}
		return true
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.loading)
		l.loading = nil
	}()
	loaded := false
	err := onShards(ctx, to, l.loadRequest(), func(any) error {
		loaded = true
		return nil
	})
	return loaded || errs.OutcomeOf(err) != errs.Refused
}
