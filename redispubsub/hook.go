package redispubsub

import (
	"errors"

	"github.com/joomcode/redispipe/redis"
)

// operation is what hooks are told of a call of Subscribe or Unsubscribe.
func operation(kind redis.OperationKind, topics []Topic) redis.Operation {
	op := redis.Operation{Kind: kind, Requests: len(topics)}
	for i, t := range topics {
		if !t.inner().Kind.Valid() || i > 0 && t.Kind != topics[0].Kind {
			op.Command = ""
			return op
		}
		op.Command = t.inner().Kind.Command(kind == redis.OperationSubscribe)
	}
	return op
}

// completed is what hooks are told of the end of a call: of several topics, the first
// error with the worst outcome. The errors of servers are as servers gave them, without
// the name of a topic.
func completed(err error, addr string) redis.Completion {
	end := redis.Completion{Address: addr}
	if err == nil {
		return end
	}
	end.Result = err
	var refused *SubscribeError
	if !errors.As(err, &refused) {
		end.Err, end.Outcome = err, redis.OutcomeOf(err)
		if ErrPubSub.IsNamespaceOf(redis.AsErrorx(err).Type()) {
			end.Outcome = redis.OutcomeNotSent // it was not asked for
		}
		return end
	}
	for _, err := range refused.Errors {
		if typed := redis.AsErrorx(err); typed.IsOfType(ErrRefused) {
			err = typed.Cause()
		}
		if outcome := redis.OutcomeOf(err); outcome > end.Outcome {
			end.Err, end.Outcome = err, outcome
		}
	}
	return end
}
