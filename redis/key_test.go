package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRequestKey(t *testing.T) {
	for _, c := range []struct {
		req  Request
		key  string
		ok   bool
		keys []string
	}{
		{Req("GET", "k"), "k", true, []string{"k"}},
		{Req("get", []byte("k")), "k", true, []string{"k"}},
		{Req("GET k"), "k", true, []string{"k"}},
		{Req("GET", 10), "10", true, []string{"10"}},
		{Req("GET", nil), "", true, []string{""}},
		{Req("GET", struct{}{}), "", false, []string{}},
		{Req("GET"), "", false, nil},
		{Req("RANDOMKEY"), "RANDOMKEY", false, nil},
		{Req("randomkey"), "RANDOMKEY", false, nil},
		{Req("PING", "x"), "", false, nil},
		{Req(""), "", false, nil},
		{Req("MSET", "a", 1, "b", 2), "a", true, []string{"a", "b"}},
		{Req("EVAL", "s", 2, "a", "b", "c"), "a", true, []string{"a", "b"}},
		{Req("EVAL", "s", "-1", "a"), "", false, nil},
		{Req("XINFO STREAM", "k"), "k", true, []string{"k"}},
		{Req("xinfo", "stream", "k"), "k", true, []string{"k"}},
		{Req("XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", "b", ">", ">"), "a", true, []string{"a", "b"}},
		{Req("XREAD BLOCK", 1000, "STREAMS", "a", "b", "$", "$"), "a", true, []string{"a", "b"}},
		{Req("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "a", "$"), "a", true, []string{"a"}},
		{Req("XREADGROUP GROUP", "g", "c", "BLOCK", 1000, "NOACK", "STREAMS", "a", ">"), "a", true, []string{"a"}},
		{Req("JSON.GET", "k", "$"), "k", true, []string{"k"}},
	} {
		key, ok := c.req.Key()
		assert.Equal(t, c.key, key, "%v", c.req)
		assert.Equal(t, c.ok, ok, "%v", c.req)
		assert.Equal(t, c.keys, c.req.Keys(), "%v", c.req)
	}
}

func TestRequestKeyAllocatesNothing(t *testing.T) {
	req := Req("EVALSHA", "sha", []byte("2"), "a", "b")
	assert.Zero(t, testing.AllocsPerRun(100, func() { req.Key() }))
}
