package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReq(t *testing.T) {
	assert.Equal(t, Request{Cmd: "GET", Args: []any{"k"}}, Req("GET", "k"))
	assert.Equal(t, Request{"PING", nil}, Req("PING"))
	assert.Equal(t, "CLUSTER SLOTS", Req("cluster Slots").CommandName())
	assert.Empty(t, Request{}.CommandName())
}
