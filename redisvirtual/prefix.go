package redisvirtual

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
)

// unknownKeys returns the error of a request to which the prefix of the sender can't be added, because its keys
// are not known. Without a prefix it returns nil.
func (c *conn) unknownKeys(r *send.Request) *errorx.Error {
	if c.to.Prefix == "" {
		return nil
	}
	return c.to.Prefix.Refusal(r)
}
