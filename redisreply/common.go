package redisreply

// Common is the reply to LCS with IDX: the matching pieces of two texts, from the last to the
// first.
type Common struct {
	Matches []Match `redis:"matches"`
	// Len is the length of the longest common subsequence.
	Len int64 `redis:"len"`
}

// Match is a piece that occurs in both texts.
type Match struct {
	// A and B are the positions of the piece in the first and in the second text.
	A, B Span
	// Len is 0 unless WITHMATCHLEN asks for it.
	Len int64 `redis:",omitempty"`
}

// Span is a range of bytes in a text, counted from 0, including Last.
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
