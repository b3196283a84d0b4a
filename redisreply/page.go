package redisreply

// Page is the reply to a step of SCAN, HSCAN, SSCAN or ZSCAN. To iterate over all steps, use [redis.Keys]
// and its siblings.
type Page[T any] struct {
	// Cursor is the cursor of the next step; "0" is the end.
	Cursor string
	// Items are the elements that this step has found. A step may find none before the end.
	Items T
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Page[T]) UnmarshalRedis(res any) error {
	type plain Page[T]
	return inOrder((*plain)(p), res)
}
