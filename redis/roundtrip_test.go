package redis

import (
	"bufio"
	"bytes"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hashOf returns the RESP2 reply to HGETALL after HSET with these arguments.
func hashOf(args []any) []any {
	reply := make([]any, len(args))
	for i, arg := range args {
		text, ok := ArgToString(arg)
		if !ok {
			panic("an argument that can't be sent")
		}
		reply[i] = []byte(text)
	}
	return reply
}

// shapesOf returns the same names and values in the other shapes that a reply may have.
func shapesOf(flat []any) map[string]any {
	nested, m := []any{}, map[string]any{}
	for i := 0; i < len(flat); i += 2 {
		nested = append(nested, []any{flat[i], flat[i+1]})
		m[string(flat[i].([]byte))] = flat[i+1]
	}
	return map[string]any{"flat": flat, "pairs": nested, "map": m}
}

type (
	named   string
	level   int8
	initial struct{ letter byte }
	inner   struct {
		Depth uint16 `redis:"depth"`
		Note  string `redis:",omitempty"`
	}
	// every has each kind of field that can be sent and read.
	every struct {
		String     string
		Named      named `redis:"named"`
		Bytes      []byte
		Bool       bool
		Int        int
		Int8       level
		Int16      int16
		Int32      int32
		Int64      int64
		Uint       uint
		Uint8      uint8
		Uint16     uint16
		Uint32     uint32
		Uint64     uint64
		Uintptr    uintptr
		Float32    float32
		Float64    float64
		Pointer    *string       `redis:"pointer"`
		Deep       **int         `redis:"deep"`
		Optional   int           `redis:"optional,omitempty"`
		Text       time.Duration `redis:"text"`
		Whole      time.Duration `redis:",s"`
		Thousandth time.Duration `redis:",ms"`
		Millionth  time.Duration `redis:",us"`
		Billionth  time.Duration `redis:",ns"`
		Moment     time.Time
		Unix       time.Time  `redis:",unix"`
		Milli      time.Time  `redis:",unixmilli"`
		Micro      time.Time  `redis:",unixmicro"`
		Nano       *time.Time `redis:",unixnano"`
		Never      time.Time  `redis:",unix,omitempty"`
		TTL        Seconds
		PTTL       *Milliseconds
		Addr       netip.Addr
		Big        big.Int
		URL        *url.URL
		Initial    initial
		Inlined    inner `redis:",inline"`
		Embedded
		Left chan int `redis:"-"`
		Dash string   `redis:"-,"`
	}
	Embedded struct{ Inside string }
)

func (i initial) MarshalRedis() (any, error) { return string([]byte{i.letter}), nil }

func (i *initial) UnmarshalRedis(res any) error {
	text, err := As[string](res)
	if err == nil && len(text) != 1 {
		err = ErrResponseUnexpected.New("not a letter")
	}
	if err == nil {
		i.letter = text[0]
	}
	return err
}

// sample has the random values from which the test fills an every.
type sample struct {
	S, S2, S3, S4   string
	B               []byte
	T               bool
	I               int64
	I8              int8
	I16             int16
	I32             int32
	U               uint64
	U16             uint16
	F32             float32
	F64             float64
	Sec, Nsec       int32
	D               int32
	A               [4]byte
	Absent, Absent2 bool
}

func (s sample) every() every {
	number := int(s.I)
	numberAt := &number
	moment := time.Unix(int64(s.Sec), int64(uint32(s.Nsec)%1e9)).UTC()
	d := time.Duration(s.D)
	ptt := Milliseconds(d * time.Millisecond)
	e := every{
		String: s.S, Named: named(s.S2), Bytes: append([]byte{}, s.B...), Bool: s.T,
		Int: int(s.I), Int8: level(s.I8), Int16: s.I16, Int32: s.I32, Int64: s.I,
		Uint: uint(s.U), Uint8: uint8(s.I8), Uint16: s.U16, Uint32: uint32(s.I32), Uint64: s.U, Uintptr: uintptr(s.U),
		Float32: s.F32, Float64: s.F64, Optional: int(s.I8) / 64,
		Pointer: &s.S3, Deep: &numberAt,
		Text: time.Duration(s.I), Whole: d * time.Second, Thousandth: d * time.Millisecond, Millionth: d * time.Microsecond, Billionth: d,
		Moment: moment, Unix: moment.Truncate(time.Second), Milli: moment.Truncate(time.Millisecond),
		Micro: moment.Truncate(time.Microsecond), Nano: &moment,
		TTL: Seconds(d * time.Second), PTTL: &ptt,
		Addr: netip.AddrFrom4(s.A), URL: &url.URL{Scheme: "http", Host: "host", Path: "/" + url.PathEscape(s.S)},
		Initial: initial{s.A[0]}, Inlined: inner{s.U16, s.S4}, Embedded: Embedded{s.S2}, Dash: s.S3,
	}
	e.Big.Mul(big.NewInt(s.I), new(big.Int).SetUint64(s.U))
	if s.Absent {
		e.Pointer, e.Deep, e.Nano = nil, nil, nil
	}
	if s.Absent2 {
		e.PTTL, e.URL, e.Never = nil, nil, moment.Truncate(time.Second)
	}
	return e
}

// The values of a struct are read back unchanged from every shape of a server's reply.
func TestStructRoundTrip(t *testing.T) {
	check := func(s sample) bool {
		want := s.every()
		args := Args(want)
		require.Equal(t, args, Args(&want))
		for name, reply := range shapesOf(hashOf(args)) {
			got, err := As[every](reply)
			if !assert.NoError(t, err, name) || !assert.EqualExportedValues(t, want, got, name) ||
				!assert.Zero(t, want.Big.Cmp(&got.Big)) || !assert.Equal(t, want.Initial, got.Initial) {
				return false
			}
		}
		return true
	}
	assert.NoError(t, quick.Check(check, &quick.Config{MaxCount: 300}))
}

// The extreme values of each kind, which are rarely drawn at random, are read back unchanged.
func TestScalarRoundTrip(t *testing.T) {
	roundTrip[int64](t, math.MinInt64, math.MaxInt64, 0)
	roundTrip(t, math.MinInt, math.MaxInt)
	roundTrip[int8](t, math.MinInt8, math.MaxInt8)
	roundTrip[int16](t, math.MinInt16, math.MaxInt16)
	roundTrip[int32](t, math.MinInt32, math.MaxInt32)
	roundTrip[uint16](t, math.MaxUint16)
	roundTrip[uint32](t, math.MaxUint32)
	roundTrip[uint64](t, math.MaxUint64)
	roundTrip[float32](t, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(1)))
	roundTrip(t, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.Copysign(0, -1))
	roundTrip[time.Duration](t, math.MinInt64, math.MaxInt64, 0)
	roundTrip[named](t, "", "\x00\r\n")
	roundTrip(t, true, false)
	nan, err := As[float64](hashOf(Args(math.NaN()))[0])
	assert.NoError(t, err)
	assert.True(t, math.IsNaN(nan))
}

func roundTrip[T any](t *testing.T, values ...T) {
	t.Helper()
	for _, want := range values {
		got, err := As[T](hashOf(Args(want))[0])
		assert.NoError(t, err, "%v", want)
		assert.Equal(t, want, got)
	}
	list, err := As[[]T](hashOf(Args(values)))
	assert.NoError(t, err)
	assert.Equal(t, values, list)
	byName := map[string]T{}
	for i, v := range values {
		byName[string(rune('a'+i))] = v
	}
	m, err := As[map[string]T](hashOf(Args(byName)))
	assert.NoError(t, err)
	assert.Equal(t, byName, m)
}

// fuzzed has fields for all kinds of replies.
type fuzzed struct {
	A string            `redis:"a,omitempty"`
	N *int8             `redis:"n"`
	D time.Duration     `redis:"d,ms,omitempty"`
	T *time.Time        `redis:"t"`
	L []fuzzed          `redis:"l"`
	M map[string]uint16 `redis:"m"`
	X any               `redis:"x"`
}

// FuzzAs reads decoded replies as many types. There must be no panic, and no value together with an
// error. A conversion that fails must fail again.
func FuzzAs(f *testing.F) {
	for _, seed := range []string{
		"$1\r\n7\r\n", ":-5\r\n", "_\r\n", "*-1\r\n", ",1.5\r\n", "(99999999999999999999\r\n", "+1m30s\r\n",
		"*4\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\nn\r\n:5\r\n", "%2\r\n$1\r\na\r\n+y\r\n+l\r\n*1\r\n%1\r\n+d\r\n:5\r\n",
		"*2\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n", "*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n+a\r\n+b\r\n*2\r\n$3\r\n2-0\r\n*-1\r\n",
		"*2\r\n$1\r\nt\r\n$20\r\n2006-01-02T15:04:05Z\r\n", "*1\r\n-ERR x\r\n", "%1\r\n+m\r\n*4\r\n+k\r\n:1\r\n+k\r\n:65536\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		res, _ := ReadResponse(bufio.NewReader(bytes.NewReader(data)))
		readsTheSame[string](t, res)
		readsTheSame[uint8](t, res)
		readsTheSame[float32](t, res)
		readsTheSame[time.Duration](t, res)
		readsTheSame[*Milliseconds](t, res)
		readsTheSame[[]*int](t, res)
		readsTheSame[map[named]any](t, res)
		readsTheSame[fuzzed](t, res)
		readsTheSame[[]*fuzzed](t, res)
		readsTheSame[[]Scored[string]](t, res)
		readsTheSame[map[string][]Entry[*fuzzed]](t, res)
		readsTheSame[any](t, res)
	})
}

func readsTheSame[T any](t *testing.T, res any) {
	got, err := As[T](res)
	_, err2 := As[T](res)
	if (err == nil) != (err2 == nil) || AsError(res) != nil && err == nil {
		t.Errorf("%T: %v, then %v", got, err, err2)
	}
	if err != nil && !reflect.ValueOf(&got).Elem().IsZero() {
		t.Errorf("a value of %T with the error %v", got, err)
	}
}
