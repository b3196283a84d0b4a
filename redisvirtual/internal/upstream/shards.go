package upstream

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
)

// shared combines the answers of two masters into the answer that a single server with all keys
// would give. It returns nil if that is impossible.
type shared func(a, b any) any

// onShards maps the commands that concern every master of a cluster to the functions that combine the
// answers. SCAN also concerns every master, but goes to one after the other.
var onShards = map[string]shared{
	"DBSIZE": sum, "KEYS": both, "SCRIPT EXISTS": everywhere,
	"FLUSHALL": either, "FLUSHDB": either, "SCRIPT LOAD": either, "SCRIPT FLUSH": either,
	"FUNCTION LOAD": either, "FUNCTION DELETE": either, "FUNCTION FLUSH": either, "FUNCTION RESTORE": either,
}

// OnShards returns the name of a request's command if DoOnShards must run it, because it concerns every
// master of a cluster. Otherwise it returns "".
func (s *Servers) OnShards(r *send.Request) (name string) {
	if !s.Sharded || r.Slot != send.NoSlot {
		return ""
	}
	call := command.Of(r.Cmd, []any{r.Arg(1)})
	if call.Info == nil || call.Name != "SCAN" && onShards[call.Name] == nil {
		return ""
	}
	return call.Name
}

// DoOnShards runs a request for which OnShards has returned a name: it sends the request to all
// masters, or a SCAN to the master in its cursor. The result is a value or an error.
func (s *Servers) DoOnShards(ctx context.Context, r *send.Request) any {
	name, req := s.OnShards(r), redis.Request{Cmd: r.Cmd, Args: r.Args()}
	if name == "SCAN" {
		return s.scan(ctx, req)
	}
	return joined(onShards[name], rediscluster.DoEachShard(ctx, s.nodes.Masters(), req))
}

// joined combines the results of all masters. If one of them may have run the request, the outcome of the
// combined error is not "not sent".
func joined(join shared, results []any) any {
	var values []any
	var refused, notSent *errorx.Error
	for _, res := range results {
		err := redis.AsErrorx(res)
		switch {
		case err == nil:
			values = append(values, res)
		case err.IsOfType(redis.ErrResult):
			refused = err
		case err.HasTrait(redis.ErrTraitNotSent):
			notSent = err
		default:
			return err
		}
	}
	switch {
	case notSent != nil && len(values) == 0 && refused == nil:
		return notSent
	case notSent != nil:
		return rediscluster.ErrSplit.Wrap(notSent, "the request was not sent to some masters")
	case refused != nil:
		return refused
	case len(values) == 0:
		return rediscluster.ErrNoAliveConnection.New("no master is known")
	}
	all := values[0]
	for _, value := range values[1:] {
		if all = join(all, value); all == nil {
			return redis.ErrResponseUnexpected.New("the masters answered differently")
		}
	}
	return all
}

func either(a, _ any) any { return a }

func sum(a, b any) any {
	n, ok := a.(int64)
	m, also := b.(int64)
	if !ok || !also {
		return nil
	}
	return n + m
}

func both(a, b any) any {
	one, ok := a.([]any)
	other, also := b.([]any)
	if !ok || !also {
		return nil
	}
	return append(one, other...)
}

// everywhere combines two lists of 1 (present) and 0 (absent): an element stays 1 if it is 1 in both.
func everywhere(a, b any) any {
	one, ok := a.([]any)
	other, also := b.([]any)
	if !ok || !also || len(one) != len(other) {
		return nil
	}
	for i := range one {
		if other[i] == int64(0) {
			one[i] = other[i]
		}
	}
	return one
}
