package redisreply

// Page is the reply to a step of SCAN and its kind. [redis.Keys] and the like go through all
// steps.
type Page[T any] struct {
	// Cursor is that of the next step; "0" is the end.
	Cursor string
	// Items are what this step has found. There may be none before the end.
	Items T
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Page[T]) UnmarshalRedis(res any) error {
	type plain Page[T]
	return inOrder((*plain)(p), res)
}
