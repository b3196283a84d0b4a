package redis

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// person is a small struct whose fields have different options.
type person struct {
	Name  string         `redis:"name"`
	Age   uint8          `redis:"age"`
	Nick  *string        `redis:"nick"`
	Title string         `redis:"title,omitempty"`
	Spent time.Duration  `redis:"spent,ms,omitempty"`
	Limit *time.Duration `redis:"limit,s"`
}

// small has 8 bits, but is not a byte.
type small uint8

// bulks returns a reply of bulk strings. nil becomes null.
func bulks(values ...any) []any {
	reply := make([]any, len(values))
	for i, v := range values {
		if text, ok := v.(string); ok {
			v = []byte(text)
		}
		reply[i] = v
	}
	return reply
}

func pointer[T any](v T) *T { return &v }

func TestAsMoreTypes(t *testing.T) {
	asIs(t, 42, []byte("42"))
	asIs(t, int8(-128), int64(-128))
	asIs(t, uint64(math.MaxUint64), []byte("18446744073709551615"))
	asIs(t, uint64(math.MaxUint64), bigInt("18446744073709551615"))
	asIs(t, named("x"), "x")
	asIs(t, []int{1, 2}, bulks("1", int64(2)))
	asIs(t, []small{1, 2}, bulks("1", int64(2)))
	asIs(t, json.RawMessage("3"), []byte("3"))
	asIs(t, map[int]bool{1: true}, bulks("1", "t"))
	asIs(t, map[string]int{"a": 1}, []any{bulks("a", "1")})
	asIs(t, map[string]int64{"a": 1}, []any{bulks("a", "1")})
	asIs(t, []*string{nil, pointer("x")}, bulks(nil, "x"))
	asIs[*int64](t, nil, nil)
	asIs[any](t, nil, nil)
	asIs[any](t, int64(5), int64(5))
	asIs(t, map[string]any{"a": int64(1)}, []any{"a", int64(1)})
	asIs(t, 90*time.Second, []byte("1m30s"))
	asIs(t, time.Duration(0), []byte("0"))
	asIs(t, Seconds(-2*time.Second), int64(-2))
	asIs(t, Milliseconds(1500*time.Millisecond), int64(1500))
	assert.Equal(t, "1m30s 1.5s", fmt.Sprint(Seconds(90*time.Second), " ", Milliseconds(1500*time.Millisecond)))
	asIs(t, []Scored[string]{{"a", 1}, {"b", math.Inf(1)}}, bulks("a", "1", "b", "inf"))
	asIs(t, []Scored[int]{{7, 1.5}}, []any{[]any{[]byte("7"), 1.5}})
	asIs(t, []Scored[string]{}, []any{})
	asIs(t, Scored[string]{"a", 1}, bulks("a", "1"))
	asIs[*Scored[string]](t, nil, nil)
	asIs(t, []Entry[map[string]string]{{"1-0", map[string]string{"a": "b"}}}, []any{[]any{[]byte("1-0"), bulks("a", "b")}})
	asIs(t, []Entry[*person]{{"1-0", nil}}, []any{[]any{[]byte("1-0"), nil}})
	streams := map[string][]Entry[person]{"s": {{"1-0", person{Name: "x", Age: 1}}}}
	entries := []any{[]any{[]byte("1-0"), bulks("name", "x", "age", "1")}}
	asIs(t, streams, map[string]any{"s": entries})
	asIs(t, streams, []any{[]any{[]byte("s"), entries}})
	type node struct {
		Name string
		Next []node
	}
	asIs(t, node{"a", []node{{"b", nil}}}, map[string]any{"Name": "a", "Next": []any{bulks("Name", "b")}})
}

func asIs[T any](t *testing.T, want T, res any) {
	t.Helper()
	got, err := As[T](res)
	assert.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestAsStruct(t *testing.T) {
	want := person{Name: "Ann", Age: 30, Spent: 1500 * time.Millisecond, Limit: pointer(time.Minute)}
	for name, reply := range shapesOf(bulks("name", "Ann", "age", "30", "other", "x", "spent", "1500", "limit", "60")) {
		got, err := As[person](reply)
		assert.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	nobody, err := As[*person]([]any{})
	assert.NoError(t, err)
	assert.Nil(t, nobody)
	list, err := As[[]person]([]any{bulks("name", "a", "age", "1"), map[string]any{"name": "b", "age": int64(2)}})
	assert.NoError(t, err)
	assert.Equal(t, []person{{Name: "a", Age: 1}, {Name: "b", Age: 2}}, list)
}

// refused asserts that a result can't be read as a T, and that the error contains all of these
// words but no value.
func refused[T any](t *testing.T, res any, words ...string) error {
	t.Helper()
	got, err := As[T](res)
	require.Error(t, err)
	assert.Zero(t, got)
	assert.True(t, AsErrorx(err).IsOfType(ErrResponseUnexpected), "%v", err)
	assert.Equal(t, OutcomeValue, OutcomeOf(err), "the request ran")
	for _, word := range words {
		assert.Contains(t, err.Error(), word)
	}
	assertNoSecret(t, err)
	return err
}

func TestAsNamesTheCulprit(t *testing.T) {
	age := []string{"Age of redis.person", `age`, "uint8"}
	assertType(t, ErrResponseUnexpected, refused[person](t, bulks("name", "x", "age", "canary"), age...))
	refused[person](t, bulks("name", "x", "age", "256"), append(age, "range")...)
	refused[person](t, bulks("name", "x", "age", "-1"), append(age, "range")...)
	refused[person](t, bulks("name", "x", "age", []any{}), age...)
	assertType(t, ErrResponseNil, refused[person](t, bulks("name", "x", "age", nil), age...))
	assertType(t, ErrResponseNil, refused[person](t, bulks("name", "x"), append(age, "missing")...))
	assertType(t, ErrResponseNil, refused[person](t, []any{}, "redis.person"))
	assertType(t, ErrResponseNil, refused[person](t, nil, "redis.person"))
	refused[person](t, bulks("canary", "x"), "no field of redis.person")
	refused[person](t, bulks("name"), "redis.person")
	refused[person](t, "canary", "redis.person")
	refused[person](t, bulks("name", "x", "age", "1", "limit", "12345678901"), "Limit of redis.person", "limit,s", "range")
	refused[[]person](t, []any{bulks("name", "x", "age", "1"), bulks("name", "x", "age", "300")}, "element 1", "Age of redis.person")
	refused[int8](t, int64(128), "range", "int8")
	refused[uint](t, int64(-1), "range", "uint")
	refused[float32](t, []byte("1e300"), "range", "float32")
	refused[int](t, nil, "null", "int")
	refused[[]int](t, bulks("1", "canary"), "element 1", "int")
	refused[map[int]string](t, bulks("canary", "1"), "a key", "int")
	refused[map[string]int](t, bulks("k", "canary"), "a value", "int")
	refused[map[string]int](t, bulks("k", "1", "k"), "map[string]int")
	refused[map[string]int](t, []any{bulks("k", "1"), bulks("k")}, "map[string]int")
	refused[time.Duration](t, int64(60), "Seconds", "unit")
	refused[[]Scored[string]](t, bulks("a", "1", "b"), "Scored")
	refused[[]Scored[string]](t, bulks("a", "canary"), "element 0", "a score")
	refused[Entry[person]](t, []any{[]byte("1-0"), nil}, "an entry", "redis.person")
	refused[Entry[person]](t, nil, "Entry")
	err := refused[time.Time](t, []byte("canary"), "UnmarshalText of time.Time")
	cause, ok := AsErrorx(err).Property(EKCause)
	assert.True(t, ok)
	assert.ErrorAs(t, cause.(error), new(*time.ParseError))

	failure := ErrIO.New("x")
	_, err = As[person]([]any{"name", failure})
	assertType(t, ErrIO, err)
	assert.NotContains(t, strings.ToLower(err.Error()), "goroutine")
	assert.Equal(t, Err(failure), second(As[person](failure)))
}

func TestDoIntoMoreTypes(t *testing.T) {
	p := person{Name: "kept"}
	err := Sync{answering("*2\r\n+name\r\n+x\r\n", Limits{})}.DoInto(&p, "HGETALL", "k")
	assertType(t, ErrResponseNil, err)
	req, _ := AsErrorx(err).Property(EKRequest)
	assert.Equal(t, Req("HGETALL", "k"), req)
	assert.Equal(t, person{Name: "kept"}, p)
	require.NoError(t, Sync{answering("*4\r\n+name\r\n+x\r\n+age\r\n:7\r\n", Limits{})}.DoInto(&p, "HGETALL", "k"))
	assert.Equal(t, person{Name: "x", Age: 7}, p)
	n := 5
	assertType(t, ErrResponseUnexpected, Sync{answering("+x\r\n", Limits{})}.DoInto(&n, "GET", "k"))
	assert.Equal(t, 5, n)
	require.NoError(t, Sync{answering(":7\r\n", Limits{})}.DoInto(&n, "GET", "k"))
	assert.Equal(t, 7, n)
	for _, bad := range []any{n, p, (*person)(nil), (*int)(nil)} {
		err := Sync{answering(":7\r\n", Limits{})}.DoInto(bad, "GET", "k")
		assertType(t, ErrArgumentType, err)
		assert.ErrorContains(t, err, "a pointer to a variable is needed")
	}
}

// endless is a type that points to itself.
type endless *endless

// unhashable accepts any result, also as a map key.
type unhashable struct{ V any }

func (u *unhashable) UnmarshalRedis(res any) error {
	u.V = res
	return nil
}

// A map key of any type is read from text in both protocols. A value that can't be a map key is an
// error.
func TestAsMapKeys(t *testing.T) {
	asIs(t, map[any]string{"a": "x", int64(1): "y"}, []any{[]byte("a"), []byte("x"), int64(1), []byte("y")})
	asIs(t, map[any]int{"a": 1}, map[string]any{"a": int64(1)})
	for _, res := range []any{[]any{[]any{[]any{}, int64(1)}}, []any{map[string]any{}, int64(1)}} {
		assertType(t, ErrResponseUnexpected, second(As[map[any]int](res)))
		assertType(t, ErrResponseUnexpected, second(As[map[unhashable]int](res)))
	}
	assertType(t, ErrResponseUnexpected, second(As[map[unhashable]int](bulks("a", "1"))))
	assertType(t, ErrResponseNil, second(As[map[string]int](bulks(nil, "1"))))
}

// A pointer type that points to itself can be neither a reply nor an argument.
func TestTypesThatPointToThemselves(t *testing.T) {
	for _, res := range []any{nil, "x", int64(1), []any{}} {
		assertType(t, ErrResponseUnexpected, second(As[endless](res)))
		assertType(t, ErrResponseUnexpected, second(As[[]*endless](res)))
	}
	var e endless
	e = &e
	assertType(t, ErrArgumentType, Sync{S: &foreignSender{}}.DoInto(&e, "GET", "a"))
	assertType(t, ErrResponseUnexpected, second(As[struct {
		E endless `redis:"e,s"`
	}](bulks("e", "1"))))
	for _, arg := range []any{e, &e, []endless{e}, struct{ E endless }{}, map[string]endless{"a": e}, []any{e}} {
		assertType(t, ErrArgumentType, CheckRequest(Req("SET", Args(arg)...), true), "%T", arg)
	}
	many := pointer(pointer(pointer(pointer(5))))
	asIs(t, many, int64(5))
	assert.Equal(t, []any{int64(5)}, Args(many))
}
