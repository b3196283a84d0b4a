package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// HMGET returns only values. DoInto takes their names from the request.
func TestHMGET(t *testing.T) {
	reply := "*3\r\n+x\r\n:7\r\n_\r\n"
	var p person
	require.NoError(t, Sync{answering(reply, Limits{})}.DoInto(&p, "hmget", "k", "name", []byte("age"), "nick"))
	assert.Equal(t, person{Name: "x", Age: 7}, p)
	var m map[string][]byte
	require.NoError(t, Sync{answering(reply, Limits{})}.DoInto(&m, "HMGET", "k", "name", "age", "nick"))
	assert.Equal(t, map[string][]byte{"name": []byte("x"), "age": []byte("7"), "nick": nil}, m)
	var list []string
	require.NoError(t, Sync{answering("*1\r\n+x\r\n", Limits{})}.DoInto(&list, "HMGET", "k", "name"))
	assert.Equal(t, []string{"x"}, list)
	err := Sync{answering(reply, Limits{})}.DoInto(&p, "HMGET", "k", "name", "age")
	assertType(t, ErrResponseUnexpected, err)
	assertType(t, ErrResponseNil, Sync{answering("*2\r\n_\r\n_\r\n", Limits{})}.DoInto(&p, "HMGET", "k", "name", "age"))

	names := FieldNames[person]()
	assert.Equal(t, []any{"name", "age", "nick", "title", "spent", "limit"}, names)
	assert.Equal(t, append([]any{"k"}, names...), Args("k", names))
	p, err = As[person](Zip(names, bulks("x", "7", nil, nil, nil, nil)))
	assert.NoError(t, err)
	assert.Equal(t, person{Name: "x", Age: 7}, p)
	failure := ErrIO.New("x")
	assert.Equal(t, any(failure), Zip(names, failure))
	assertType(t, ErrArgumentType, Zip([]any{1i}, bulks("x")))
	for _, bad := range [][]any{FieldNames[int](), FieldNames[struct {
		F int `redis:",x"`
	}](), Args(FieldNames[int]())} {
		assertType(t, ErrArgumentType, Sync{answering(":7\r\n", Limits{})}.Do("HMGET", bad...))
	}
}

// The key may be a part of Cmd.
func TestHMGETWithKey(t *testing.T) {
	var m map[string]string
	require.NoError(t, Sync{answering("*2\r\n+1\r\n+2\r\n", Limits{})}.DoInto(&m, "hmget k", "a", "b"))
	assert.Equal(t, map[string]string{"a": "1", "b": "2"}, m)
	for _, args := range [][]any{nil, {"k"}} {
		require.NoError(t, Sync{answering("*0\r\n", Limits{})}.DoInto(&m, "HMGET", args...))
		assert.Empty(t, m)
	}
}

// A type that contains itself is read from names and values, no matter which replies were read
// before.
func TestHMGETRecursive(t *testing.T) {
	type node struct {
		Name string
		Next *node
	}
	type tree map[string]*tree
	asIs(t, node{Name: "x"}, bulks("Name", "x"))
	asIs(t, tree{}, []any{})
	var n *node
	require.NoError(t, Sync{answering("*1\r\n+x\r\n", Limits{})}.DoInto(&n, "HMGET", "k", "Name"))
	assert.Equal(t, &node{Name: "x"}, n)
	var w *tree
	require.NoError(t, Sync{answering("*1\r\n_\r\n", Limits{})}.DoInto(&w, "HMGET", "k", "a"))
	assert.Equal(t, &tree{"a": nil}, w)
}
