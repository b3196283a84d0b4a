package redisclusterutil

import (
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
)

func TestCRC16(t *testing.T) {
	// The check value that the Redis Cluster specification gives.
	assert.Equal(t, uint16(0x31C3), CRC16([]byte("123456789")))
	assert.Equal(t, uint16(0), CRC16(nil))
}

func TestSlot(t *testing.T) {
	// The answers of CLUSTER KEYSLOT.
	for key, want := range map[string]uint16{
		"":                  0,
		"foo":               12182,
		"bar":               5061,
		"hello":             866,
		"somekey":           11058,
		"foo{hash_tag}":     2515,
		"bar{hash_tag}":     2515,
		"hash_tag":          2515,
		"foo{}{bar}":        8363,
		"foo{{bar}}zap":     4015, // the tag is "{bar"
		"foo{bar}{zap}":     5061, // the first tag counts
		"}foo{bar}":         5061,
		"foo{bar":           CRC16([]byte("foo{bar")) % NumSlots,
		"\x00\xff{\xfe}tag": CRC16([]byte("\xfe")) % NumSlots,
	} {
		assert.Equal(t, want, Slot(key), "%q", key)
	}
}

func TestReqSlot(t *testing.T) {
	slot, ok := ReqSlot(redis.Req("GET", "foo"))
	assert.True(t, ok)
	assert.Equal(t, uint16(12182), slot)

	slot, ok = ReqSlot(redis.Req("mget", []byte("foo"), "bar"))
	assert.True(t, ok)
	assert.Equal(t, uint16(12182), slot, "the first key counts")

	_, ok = ReqSlot(redis.Req("PING"))
	assert.False(t, ok)

	seen := map[uint16]struct{}{}
	for range 100 {
		slot, ok = ReqSlot(redis.Req("RANDOMKEY"))
		assert.True(t, ok)
		assert.Less(t, slot, uint16(NumSlots))
		seen[slot] = struct{}{}
	}
	assert.Greater(t, len(seen), 1)
}

func TestBatchSlot(t *testing.T) {
	cases := []struct {
		name string
		reqs []redis.Request
		key  string
		ok   bool
	}{
		{"none", nil, "", false},
		{"one", []redis.Request{redis.Req("GET", "a")}, "a", true},
		{"one slot", []redis.Request{redis.Req("GET", "a{x}"), redis.Req("SET", "b{x}", 1)}, "a{x}", true},
		{"two slots", []redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")}, "", false},
		{"keyless before", []redis.Request{redis.Req("PING"), redis.Req("GET", "a")}, "a", true},
		{"keyless after", []redis.Request{redis.Req("GET", "a"), redis.Req("PING")}, "a", true},
		{"keyless only", []redis.Request{redis.Req("PING"), redis.Req("RANDOMKEY")}, "", false},
		{"empty key", []redis.Request{redis.Req("GET", ""), redis.Req("GET", "a")}, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			key, ok := BatchKey(c.reqs)
			assert.Equal(t, c.key, key)
			assert.Equal(t, c.ok, ok)
			slot, ok := BatchSlot(c.reqs)
			assert.Equal(t, c.ok, ok)
			if ok {
				assert.Equal(t, Slot(c.key), slot)
			}
		})
	}
}
