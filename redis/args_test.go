package redis

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

func TestArgs(t *testing.T) {
	nick := "A"
	moment := time.Date(2024, 2, 3, 4, 5, 6, 7, time.UTC)
	var null *string
	for _, c := range []struct {
		name string
		in   []any
		out  []any
	}{
		{"plain", []any{"k", []byte("b"), 1, uint8(2), 1.5, true, nil}, []any{"k", []byte("b"), 1, uint8(2), 1.5, true, nil}},
		{"named", []any{named("x"), level(3), &nick}, []any{"x", int64(3), "A"}},
		{"struct", []any{"k", person{Name: "Ann", Age: 30, Nick: &nick, Spent: time.Second}},
			[]any{"k", "name", "Ann", "age", uint64(30), "nick", "A", "spent", int64(1000)}},
		{"absent", []any{&person{}}, []any{"name", "", "age", uint64(0)}},
		{"slices", []any{"k", []string{"a", "b"}, []int8{1}, []any{2, &nick}}, []any{"k", "a", "b", int64(1), int64(2), "A"}},
		{"small numbers", []any{[]small{1, 2}, json.RawMessage("3")}, []any{uint64(1), uint64(2), []byte("3")}},
		{"map", []any{map[string]int{"b": 2, "a": 1}}, []any{"a", int64(1), "b", int64(2)}},
		{"times", []any{moment, 90 * time.Second, Seconds(90 * time.Second), Milliseconds(time.Second)},
			[]any{[]byte("2024-02-03T04:05:06.000000007Z"), "1m30s", int64(90), int64(1000)}},
		{"scores", []any{"k", []Scored[string]{{"a", 1.5}, {"b", 2}}, Scored[level]{3, 1}}, []any{"k", 1.5, "a", 2.0, "b", 1.0, int64(3)}},
		{"user's", []any{initial{'x'}, &initial{'y'}, []initial{{'z'}}}, []any{"x", "y", "z"}},
		{"by a pointer", []any{url.URL{Host: "h"}, []url.URL{{Host: "g"}}}, []any{[]byte("//h"), []byte("//g")}},
		{"in an interface", []any{struct{ A, B, C any }{1, nil, null}}, []any{"A", int64(1)}},
		{"none", nil, []any{}},
	} {
		assert.Equal(t, c.out, Args(c.in...), c.name)
	}
}

// silent is a type that fails to marshal itself.
type silent struct{}

var errSilent = errors.New("canary")

func (silent) MarshalText() ([]byte, error) { return nil, errSilent }

// odd is a type that marshals itself to a value that can't be sent.
type odd struct{}

func (odd) MarshalRedis() (any, error) { return []string{"canary"}, nil }

// Every sender refuses a request with an argument that can't be sent, and says why.
func TestBadArgs(t *testing.T) {
	var endless any
	endless = &endless
	list, names := []any{nil}, map[string]any{}
	list[0], names["a"] = list, names
	own := &Scored[any]{}
	own.Member = own
	for _, c := range []struct {
		v     any
		words []string
	}{
		{make(chan int), []string{"chan int"}},
		{(*person)(nil), []string{"nil", "redis.person"}},
		{[]any{nil}, []string{"element 0", "nil"}},
		{[]*string{nil}, []string{"element 0", "nil"}},
		{[]*Scored[string]{nil}, []string{"element 0", "nil"}},
		{[]any{(*Scored[string])(nil)}, []string{"element 0", "nil"}},
		{[]any{1, person{}}, []string{"element 1", "redis.person"}},
		{map[string]any{"a": nil}, []string{"a value"}},
		{map[string][]int{"a": nil}, []string{"a value", "[]int"}},
		{map[chan int]int{nil: 1}, []string{"a key", "chan int"}},
		{struct{ F []string }{}, []string{"F of struct", "[]string"}},
		{struct{ F person }{}, []string{"F of struct", "redis.person"}},
		{struct{ F any }{[]int{1}}, []string{"F of struct", "[]int"}},
		{struct {
			F string `redis:"f,x"`
		}{}, []string{"F of struct", "f,x"}},
		{person{Spent: time.Microsecond}, []string{"Spent of redis.person", "spent,ms", "not a whole number"}},
		{person{Spent: 1500 * time.Microsecond}, []string{"Spent of redis.person", "not a whole number"}},
		{Seconds(time.Millisecond), []string{"not a whole number", "s"}},
		{Seconds(1500 * time.Millisecond), []string{"not a whole number", "s"}},
		{Milliseconds(1500 * time.Microsecond), []string{"not a whole number", "ms"}},
		{struct {
			F time.Time `redis:"f,unixnano"`
		}{}, []string{"F of struct", "f,unixnano", "range"}},
		{struct{ F silent }{}, []string{"F of struct", "MarshalText of redis.silent"}},
		{odd{}, []string{"MarshalRedis of redis.odd", "[]string"}},
		{[]Scored[chan int]{{}}, []string{"element 0", "a member", "chan int"}},
		{struct{ f string }{"canary"}, []string{"struct", "no fields"}},
		{errors.New("canary"), []string{"errors.errorString", "no fields"}},
		{endless, []string{"too many pointers"}},
		{[]any{endless}, []string{"element 0", "too many pointers"}},
		{list, []string{"element 0", "[]interface"}},
		{names, []string{"a value", "map[string]interface"}},
		{own, []string{"a member", "redis.Scored"}},
	} {
		for name, s := range map[string]Sender{
			"own":     &ownSender{encoded: func(*send.Request, Future, uint64) { t.Error("sent") }},
			"foreign": &foreignSender{},
		} {
			err := AsErrorx(Sync{s}.Do("SET", Args("key", c.v)...))
			assertType(t, ErrArgumentType, err, name)
			for _, word := range append(c.words, "SET: Args[1]") {
				assert.Contains(t, err.Error(), word, name)
			}
			assertNoSecret(t, err)
			pos, _ := err.Property(EKArgPos)
			assert.Equal(t, 1, pos)
		}
		assertType(t, ErrArgumentType, CheckRequest(Req("SET", Args("key", c.v)...), false))
		assertType(t, ErrArgumentType, second(AppendRequest(nil, Req("SET", Args("key", c.v)...))))
	}
	err := AsErrorx(Sync{&foreignSender{}}.Do("SET", Args(silent{})...))
	cause, _ := err.Property(EKCause)
	assert.Equal(t, errSilent, cause)
}

// as asserts that As returns want for a result.
func as[T any](t *testing.T, want T, res any) {
	t.Helper()
	got, err := As[T](res)
	assert.NoError(t, err)
	assert.Equal(t, want, got)
}

// not asserts that As[T] can't convert the results.
func not[T any](t *testing.T, results ...any) {
	t.Helper()
	for _, res := range results {
		got, err := As[T](res)
		assertType(t, ErrResponseUnexpected, err, "%T of %T", got, res)
		assert.Zero(t, got)
		assertNoSecret(t, err)
	}
}

func TestAs(t *testing.T) {
	as(t, []byte("a"), []byte("a"))
	as(t, []byte{}, []byte{})
	as(t, []byte(nil), nil)
	as(t, []byte("OK"), "OK")
	as(t, []byte("-5"), int64(-5))
	as(t, "a", []byte("a"))
	as(t, "2.5", 2.5)
	as(t, "true", true)
	as(t, "123456789012345678901", bigInt("123456789012345678901"))
	as(t, int64(42), []byte("42"))
	as(t, int64(42), int64(42))
	as(t, int64(7), bigInt("7"))
	as(t, 2.5, []byte("2.5"))
	as(t, 42.0, int64(42))
	as(t, math.Inf(1), math.Inf(1))
	as(t, math.Inf(-1), []byte("-inf"))
	as(t, "inf", math.Inf(1))
	as(t, "nan", math.NaN())
	as(t, true, int64(1))
	as(t, false, []byte("0"))
	as(t, true, "OK")
	as(t, false, false)
	as(t, []string{"a", "1"}, []any{[]byte("a"), int64(1)})
	as(t, []string{}, []any{})
	as(t, [][]byte{nil, {}}, []any{nil, []byte{}})
	as(t, []int64(nil), nil)
	as(t, []float64{1, 2.5}, []any{int64(1), 2.5})
	as(t, []bool{true, false}, []any{int64(1), false})
	as(t, map[string]string{"a": "1"}, []any{[]byte("a"), int64(1)})
	as(t, map[string]string{"a": "1"}, map[string]any{"a": int64(1)})
	as(t, map[string]int64{}, []any{})
	as(t, map[string][]byte(nil), nil)
	as(t, map[string]float64{"a": 0.5}, map[string]any{"a": 0.5})
	as(t, map[string]bool{"a": true}, map[string]any{"a": true})
}

func TestAsNot(t *testing.T) {
	not[int64](t, []byte("canary"), "", 2.5, true, []any{}, map[string]any{}, bigInt("123456789012345678901"))
	not[float64](t, []byte("canary"), "0x1", []any{int64(1)})
	not[bool](t, int64(2), "yes", []byte(""))
	not[string](t, []any{}, map[string]any{})
	not[[]byte](t, []any{}, 1i)
	not[[]string](t, "canary", int64(12345678), map[string]any{}, []any{[]any{}})
	not[[]int64](t, []any{[]byte("canary")})
	not[map[string]string](t, "canary", []any{[]byte("canary")}, []any{[]byte("k"), []any{}}, map[string]any{"k": []any{}})
	for _, null := range []error{second(As[string](nil)), second(As[int64](nil)), second(As[[]string]([]any{nil})),
		second(As[map[string]string](map[string]any{"a": nil})), second(As[map[string]string]([]any{nil, int64(1)}))} {
		assertType(t, ErrResponseNil, null)
	}
	failure := ErrIO.New("x")
	assert.Equal(t, Err(failure), second(As[string](failure)))
}

func second[T any](_ T, err error) error { return err }

// As returns a copy: later changes of the result do not affect it.
func TestAsCopies(t *testing.T) {
	res := []byte("abc")
	got, err := As[[]byte](res)
	require.NoError(t, err)
	res[0] = 'x'
	assert.Equal(t, "abc", string(got))
}

func bigInt(text string) *big.Int {
	v, _ := new(big.Int).SetString(text, 10)
	return v
}
