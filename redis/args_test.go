package redis

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/wire"
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

// silent fails to make an argument of itself.
type silent struct{}

var errSilent = errors.New("canary")

func (silent) MarshalText() ([]byte, error) { return nil, errSilent }

// odd makes what can't be sent.
type odd struct{}

func (odd) MarshalRedis() (any, error) { return []string{"canary"}, nil }

// What can't be sent has its request refused, by every sender, and says why.
func TestBadArgs(t *testing.T) {
	for _, c := range []struct {
		v     any
		words []string
	}{
		{make(chan int), []string{"chan int"}},
		{(*person)(nil), []string{"nil", "redis.person"}},
		{[]any{nil}, []string{"element 0", "nil"}},
		{[]*string{nil}, []string{"element 0", "nil"}},
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
		{person{Spent: time.Microsecond}, []string{"Spent of redis.person", "spent,ms", "less than"}},
		{Seconds(time.Millisecond), []string{"less than", "s"}},
		{struct {
			F time.Time `redis:"f,unixnano"`
		}{}, []string{"F of struct", "f,unixnano", "range"}},
		{struct{ F silent }{}, []string{"F of struct", "MarshalText of redis.silent"}},
		{odd{}, []string{"MarshalRedis of redis.odd", "[]string"}},
		{[]Scored[chan int]{{}}, []string{"element 0", "a member", "chan int"}},
	} {
		for name, s := range map[string]Sender{
			"own":     &ownSender{encoded: func(*wire.Request, Future, uint64) { t.Error("sent") }},
			"foreign": &foreignSender{},
		} {
			err := AsErrorx(Sync{s}.Do("SET", Args("key", c.v)...))
			assertType(t, ErrArgumentType, err, name)
			for _, word := range append(c.words, "SET: argument 1") {
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
