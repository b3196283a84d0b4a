package redisotel

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/joomcode/errorx"
	"go.opentelemetry.io/otel/attribute"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

// isFailure reports whether an operation has failed.
func isFailure(op redis.Operation, end redis.Completion) bool {
	switch {
	case end.Outcome == redis.OutcomeValue:
		return false
	case end.Outcome == redis.OutcomeRefused && strings.HasPrefix(op.Command, "EVALSHA"):
		return !isType(end.Err, redis.ErrNoScript)
	case isType(end.Err, redis.ErrContextClosed):
		return !waits(op)
	case isType(end.Err, redispubsub.ErrClosed):
		return false
	case op.Kind == redis.OperationWatch && isType(end.Err, redis.ErrRequestWithdrawn):
		return redis.CausedBy(end.Err, context.Canceled) || redis.CausedBy(end.Err, context.DeadlineExceeded)
	}
	return true
}

// waits reports whether an operation may wait for other clients for any time. Closing the client is then a
// normal way to end it.
func waits(op redis.Operation) bool {
	switch op.Kind {
	case redis.OperationSubscribe, redis.OperationUnsubscribe:
		return true
	}
	info := command.Lookup(op.Command)
	return info != nil && info.Is(command.Blocking)
}

func isType(err error, typ *errorx.Type) bool {
	var typed *errorx.Error
	return errors.As(err, &typed) && typed.IsOfType(typ)
}

// failure returns the attributes of the error that ended an operation.
func (h *hook) failure(end redis.Completion, failed bool) (attrs []attribute.KeyValue) {
	if end.Outcome == redis.OutcomeValue || end.Err == nil {
		return nil
	}
	kind := errorType(end.Err)
	if end.Outcome == redis.OutcomeRefused {
		kind = h.seen.bounded(prefix(end.Err))
		attrs = append(attrs, attribute.String("db.response.status_code", kind))
	}
	if failed {
		attrs = append(attrs, attribute.String("error.type", kind))
	}
	return attrs
}

// errorType returns the full name of the error's type. There are some dozens of types.
func errorType(err error) string {
	var typed *errorx.Error
	if errors.As(err, &typed) {
		return typed.Type().FullName()
	}
	return "_OTHER"
}

// prefix returns the error code of a server's error, which is its first word. It returns ERR if the word
// does not look like a code, because a script may raise any text.
func prefix(err error) string {
	word, _, _ := strings.Cut(redis.AsErrorx(err).Message(), " ")
	if word == "" || len(word) > 20 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "ERR"
	}
	return word
}

// prefixesMost bounds the values of db.response.status_code: servers use about 40 prefixes,
// and a script may raise any.
const prefixesMost = 128

// prefixes are the prefixes seen so far.
type prefixes struct {
	mu   sync.Mutex // guards seen
	seen map[string]struct{}
}

// bounded returns prefix, or "_OTHER" if too many others were seen before.
func (p *prefixes) bounded(prefix string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.seen[prefix]; known {
		return prefix
	}
	if len(p.seen) >= prefixesMost {
		return "_OTHER"
	}
	if p.seen == nil {
		p.seen = make(map[string]struct{})
	}
	p.seen[prefix] = struct{}{}
	return prefix
}

// description returns the description of a span's status. It is the error's type, because its text may
// come from the server.
func description(err error) string {
	if err == nil {
		return ""
	}
	return errorType(err)
}
