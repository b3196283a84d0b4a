package redisreply

// Popped has the elements that a command popped from the first of several keys that was not empty.
// If all keys are empty, the reply is null, and a *Popped is nil.
type Popped[T any] struct {
	Key   string
	Value T
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Popped[T]) UnmarshalRedis(res any) error {
	if list, ok := res.([]any); ok && len(list) == 3 { // from BZPOPMIN: a key, a member and its score
		res = []any{list[0], list[1:]}
	}
	type plain Popped[T]
	return inOrder((*plain)(p), res)
}

// Ranked is the rank and the score of a member of a sorted set: the reply to ZRANK with WITHSCORE.
type Ranked struct {
	Rank  int64
	Score float64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (r *Ranked) UnmarshalRedis(res any) error {
	type plain Ranked
	return inOrder((*plain)(r), res)
}
