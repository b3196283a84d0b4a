//go:build !race

package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/send"
)

// Arguments that are made on the caller's stack stay there: strings, slices, and numbers that
// became interfaces.
func TestArgumentsAreNotAllocated(t *testing.T) {
	s := Sync{&ownSender{encoded: func(_ *send.Request, cb Future, n uint64) { cb.Resolve(any("OK"), n) }}}
	n := 1000
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		n++
		var room [40]byte
		b := append(room[:0], "of thirty bytes, in all it has"...)
		b[0] = byte(n)
		if s.Do("SET", string(b), b, n, float64(n)+0.5) != any("OK") {
			t.Error("not answered")
		}
	}))
}

// A batch through WithPrefix allocates the text of one key for each request, and little besides.
func TestPrefixAllocations(t *testing.T) {
	own := manyTo{many: func(Future) {}}
	reqs := make([]Request, 100)
	for i := range reqs {
		reqs[i] = Req("SET", "key of some length", "value")
	}
	s := WithPrefix(own, "tenant:")
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.SendMany(reqs, nil, 0) }), 110.0)
}

// A struct as an argument costs one allocation in addition to those of its fields.
func TestStructAllocations(t *testing.T) {
	u := &benchUser{Name: "a name", Mail: "a@b.c", Age: 1000, Score: 1.5}
	res := any(hashOf(Args(u)))
	var args []any
	var got benchUser
	var err error
	assert.EqualValues(t, 1+len(res.([]any))/2, testing.AllocsPerRun(1000, func() { args = Args(u) }))
	assert.Len(t, args, 8)
	const stringFields = 2 // the struct itself holds the other fields
	assert.EqualValues(t, 1+stringFields, testing.AllocsPerRun(1000, func() { got, err = As[benchUser](res) }))
	assert.NoError(t, err)
	assert.Equal(t, *u, got)
}
