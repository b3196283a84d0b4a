package redisreply

// Popped is what was taken from the first of several keys that had something. If none had, the
// reply is null: a *Popped is nil then.
type Popped[T any] struct {
	Key   string
	Value T
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Popped[T]) UnmarshalRedis(res any) error {
	if list, ok := res.([]any); ok && len(list) == 3 { // of BZPOPMIN: a key, a member and its score
		res = []any{list[0], list[1:]}
	}
	type plain Popped[T]
	return inOrder((*plain)(p), res)
}

// Ranked is the place of a member of a sorted set, as ZRANK answers with WITHSCORE.
type Ranked struct {
	Rank  int64
	Score float64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (r *Ranked) UnmarshalRedis(res any) error {
	type plain Ranked
	return inOrder((*plain)(r), res)
}
