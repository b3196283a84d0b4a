package redisclusterutil

import (
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// setSender is a Sender that knows sets and nothing else.
type setSender struct {
	redis.Sender
	sets map[string]map[string]struct{}
}

func (s setSender) Send(r redis.Request, cb redis.Future, n uint64) {
	key, _ := redis.ArgToString(r.Args[0])
	set := s.sets[key]
	if set == nil {
		set = map[string]struct{}{}
		s.sets[key] = set
	}
	for _, arg := range r.Args[1:] {
		el, _ := redis.ArgToString(arg)
		if r.Cmd == "SADD" {
			set[el] = struct{}{}
		} else {
			delete(set, el)
		}
	}
	var res []any
	for el := range set {
		res = append(res, []byte(el))
	}
	cb.Resolve(res, n)
}

func TestMasterOnly(t *testing.T) {
	s := setSender{sets: map[string]map[string]struct{}{}}
	for _, stub := range []string{"", "some"} {
		slots, found, err := RequestMasterOnly(s, stub)
		require.NoError(t, err)
		assert.False(t, found)
		assert.Empty(t, slots)

		require.NoError(t, SetMasterOnly(s, stub, []uint16{1, 2}))
		require.NoError(t, SetMasterOnly(s, stub, []uint16{2, 16383}))
		require.NoError(t, SetMasterOnly(s, stub, nil))
		require.NoError(t, UnsetMasterOnly(s, stub, []uint16{1, 7}))
		slots, found, err = RequestMasterOnly(s, stub)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, map[uint16]struct{}{2: {}, 16383: {}}, slots)
	}
	assert.Len(t, s.sets, 2)
	assert.Equal(t, Slot("some"), Slot(masterOnlyKey("some")), "the stub says where the set is")

	err := SetMasterOnly(s, "", []uint16{NumSlots})
	assert.True(t, redis.AsErrorx(err).HasTrait(redis.ErrTraitNotSent))
}

func TestParseMasterOnly(t *testing.T) {
	for _, res := range []any{
		[]any{[]byte("5"), "7", int64(16383)}, "5,7,16383", []byte("5 7\n16383"),
	} {
		slots, found, err := ParseMasterOnly(res)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, map[uint16]struct{}{5: {}, 7: {}, 16383: {}}, slots)
	}
	for _, res := range []any{nil, "", []any{}} {
		slots, found, err := ParseMasterOnly(res)
		require.NoError(t, err)
		assert.False(t, found)
		assert.Empty(t, slots)
	}
	for _, res := range []any{int64(1), "x", "16384", []any{"-1"}, []any{int64(-1)}, []any{int64(NumSlots)}, []any{nil}, "1-2"} {
		_, _, err := ParseMasterOnly(res)
		require.Error(t, err)
		assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected))
	}
	moved := redis.ErrMoved.New("MOVED 1 a:1")
	_, _, err := ParseMasterOnly(moved)
	assert.Equal(t, error(moved), err)
}
