package rediscluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// splitting describes how to split a command by the slots of its keys.
type splitting struct {
	step   int  // the number of arguments for each key
	writes bool // a part that has run must not be repeated silently
	// join joins the results of the parts. where holds the indexes of the keys of each
	// part.
	join func(keys int, results []any, where [][]int) any
}

var splittings = map[string]splitting{
	"MGET":   {1, false, joinValues},
	"MSET":   {2, true, joinOK},
	"DEL":    {1, true, joinCounts},
	"UNLINK": {1, true, joinCounts},
	"EXISTS": {1, false, joinCounts},
	"TOUCH":  {1, false, joinCounts},
}

// SendSplit sends MGET, MSET, DEL, UNLINK, EXISTS or TOUCH with keys of any slots: one
// part for each slot, all at once. It joins their results as if the command had run as
// a whole. It works with any Sender. It refuses other commands with
// [redis.ErrNoSlotKey].
//
// The parts are not atomic: other clients may see one without the rest. If parts fail, the result is
// the error of one of them, preferably one with an unknown outcome. If parts of MSET, DEL or UNLINK
// ran and others did not, the result is an [ErrSplit]. So [redis.OutcomeOf] and [redis.SafeToRetry]
// are right about the command as a whole.
func SendSplit(ctx context.Context, s redis.Sender, req redis.Request) any {
	how, ok := splittings[strings.ToUpper(req.Cmd)]
	if !ok {
		return redis.ErrNoSlotKey.New("only MGET, MSET, DEL, UNLINK, EXISTS and TOUCH can be split").
			WithProperty(redis.EKRequest, req)
	}
	if len(req.Args) == 0 || len(req.Args)%how.step != 0 {
		return redis.SyncCtx{S: s}.Send(ctx, req) // the server reports the mistake
	}
	parts, where, err := split(req, how.step)
	if err != nil {
		return err
	}
	results := redis.SyncCtx{S: s}.SendMany(ctx, parts)
	if err := splitError(results, how.writes); err != nil {
		if err.IsOfType(ErrSplit) {
			err = err.WithProperty(redis.EKRequest, req)
		}
		return redis.AsError(err)
	}
	joined := how.join(len(req.Args)/how.step, results, where)
	if err, failed := joined.(*errorx.Error); failed {
		return err.WithProperty(redis.EKRequest, req)
	}
	return joined
}

// splitError returns the error of a command whose parts have these results, or nil.
func splitError(results []any, writes bool) *errorx.Error {
	var first [redis.OutcomeUnknown + 1]any // of each outcome
	for _, res := range results {
		if of := redis.OutcomeOf(res); first[of] == nil {
			first[of] = res
		}
	}
	failed := cmp.Or(redis.AsErrorx(first[redis.OutcomeUnknown]), redis.AsErrorx(first[redis.OutcomeRefused]),
		redis.AsErrorx(first[redis.OutcomeNotSent]))
	ran := slices.ContainsFunc(results, func(res any) bool { return redis.OutcomeOf(res) == redis.OutcomeValue })
	if failed != nil && ran && writes && redis.OutcomeOf(failed) != redis.OutcomeUnknown {
		return ErrSplit.Wrap(failed, "some of its keys were written, and others were not")
	}
	return failed
}

// split returns a request for each slot, in the order in which the slots first appear, and the indexes
// of the keys of each request.
func split(req redis.Request, step int) (parts []redis.Request, where [][]int, err error) {
	part := make(map[uint16]int)
	for i := 0; i < len(req.Args); i += step {
		key, ok := redis.ArgToString(req.Args[i])
		if !ok {
			_, err := redis.AppendRequest(nil, req)
			return nil, nil, err
		}
		slot := redisclusterutil.Slot(key)
		at, known := part[slot]
		if !known {
			at = len(parts)
			part[slot] = at
			parts = append(parts, redis.Request{Cmd: req.Cmd})
			where = append(where, nil)
		}
		parts[at].Args = append(parts[at].Args, req.Args[i:i+step]...)
		where[at] = append(where[at], i/step)
	}
	return parts, where, nil
}

// joinValues puts values where their keys were.
func joinValues(keys int, results []any, where [][]int) any {
	joined := make([]any, keys)
	for part, res := range results {
		values, ok := res.([]any)
		if !ok || len(values) != len(where[part]) {
			return unexpectedPart(res)
		}
		for i, at := range where[part] {
			joined[at] = values[i]
		}
	}
	return joined
}

// joinCounts adds up counts.
func joinCounts(_ int, results []any, _ [][]int) any {
	total := int64(0)
	for _, res := range results {
		n, ok := res.(int64)
		if !ok {
			return unexpectedPart(res)
		}
		total += n
	}
	return total
}

// joinOK joins the results of a command that returns OK: all results are the same.
func joinOK(_ int, results []any, _ [][]int) any {
	return results[0]
}

func unexpectedPart(res any) error {
	return redis.ErrResponseUnexpected.New("a part was answered with %T", res).WithProperty(redis.EKResponse, res)
}
