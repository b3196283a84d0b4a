package redisreply

// Common is the reply to LCS with IDX: what two texts have in common, from their ends to their
// beginnings.
type Common struct {
	Matches []Match `redis:"matches"`
	// Len is how long the longest common subsequence is.
	Len int64 `redis:"len"`
}

// Match is a piece that both texts have.
type Match struct {
	// A and B are where it is in the first text, and in the second.
	A, B Span
	// Len is 0 unless WITHMATCHLEN asks for it.
	Len int64 `redis:",omitempty"`
}

// Span is a part of a text, in bytes from 0 on. Its last one belongs to it.
type Span struct{ First, Last int64 }

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (m *Match) UnmarshalRedis(res any) error {
	type plain Match
	return inOrder((*plain)(m), res)
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (s *Span) UnmarshalRedis(res any) error {
	type plain Span
	return inOrder((*plain)(s), res)
}
