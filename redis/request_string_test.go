package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRequestString(t *testing.T) {
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Req("set", "key", "0123456789a"), `Req("SET", 2 args, 1 key, 17 bytes)`},
		{Req("PING"), `Req("PING", 0 args, 0 keys, 4 bytes)`},
		{Req("MGET", "a", []byte("b"), 100), `Req("MGET", 3 args, 3 keys, 9 bytes)`},
		{Req("cluster slots"), `Req("CLUSTER SLOTS", 0 args, 0 keys, 12 bytes)`},
		{Req("CLUSTER", "slots"), `Req("CLUSTER SLOTS", 0 args, 0 keys, 12 bytes)`},
		{Req("AUTH hunter2"), `Req("AUTH", 1 arg, 0 keys, 11 bytes)`},
		{Req("AUTH", "user", "hunter2"), `Req("AUTH", 2 args, 0 keys, 15 bytes)`},
		{Req("json.get secret"), `Req("json.get", 1 arg, 0 keys, 14 bytes)`},
		{Req("SET", "k", struct{ p string }{"hunter2"}), `Req("SET", 2 args, 1 key, 4 bytes)`},
		{Req("hunter2!"), `Req("?", 0 args, 0 keys, 8 bytes)`},
		{Req(""), `Req("", 0 args, 0 keys, 0 bytes)`},
	} {
		assert.Equal(t, c.want, c.req.String())
	}
}
