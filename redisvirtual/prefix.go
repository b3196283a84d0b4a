package redisvirtual

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// unknownKeys returns the error of a request to which the prefix of the sender can't be added, because its keys
// are not known, or because a server may not accept the longer request. Without a prefix it returns nil.
func (c *conn) unknownKeys(r *send.Request) *errorx.Error {
	switch size := len(r.Buf) + c.prefixAdds(r); {
	case c.to.Prefix == "":
		return nil
	case size > proto.Most, size > proto.WordMost && c.longWord(r):
		return redis.ErrArgumentType.New("with the prefix, the request may be larger than a server accepts")
	}
	return c.to.Prefix.Refusal(r)
}

// longWord reports whether a word of the request may be too long with the prefix.
func (c *conn) longWord(r *send.Request) bool {
	for _, word := range r.All {
		if len(word)+c.longest() > proto.WordMost {
			return true
		}
	}
	return false
}

// longest is the most that the prefix can add to a word. A pattern escapes special characters, so the most is twice the
// length of the prefix.
func (c *conn) longest() int { return 2 * len(c.to.Prefix) }

// prefixAdds returns how many bytes the prefix adds to a request at most. Each word may get the prefix, and
// its length may get more digits. Some requests also get a pattern.
func (c *conn) prefixAdds(r *send.Request) int {
	if c.to.Prefix == "" {
		return 0
	}
	const pattern = "$5\r\nMATCH\r\n$12345\r\n*\r\n"
	return r.Words()*(c.longest()+len("12345")) + c.longest() + len(pattern)
}
