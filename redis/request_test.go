package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReq(t *testing.T) {
	assert.Equal(t, Request{Cmd: "GET", Args: []any{"k"}}, Req("GET", "k"))
	assert.Equal(t, Request{"PING", nil}, Req("PING"))
	assert.Equal(t, "CLUSTER SLOTS", Req("cluster Slots").CommandName())
	assert.Equal(t, "CLIENT NOSUCH", Req("client nosuch").CommandName())
	assert.Equal(t, "JSON.DEBUG MEMORY", Req("json.debug memory", "k").CommandName())
	assert.Equal(t, "XREAD", Req("XREAD BLOCK", 1000).CommandName())
	assert.Equal(t, "GET", Req("get k").CommandName())
	assert.Empty(t, Request{}.CommandName())
}
