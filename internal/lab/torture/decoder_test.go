package torture

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// small are limits that inputs of a test can exceed.
var small = redis.Limits{Line: 256, Bulk: 2000, Elements: 60, Depth: 6}

// splitReader is a reader that returns a few bytes at a time.
type splitReader struct {
	in  []byte
	rnd *rand.Rand
}

func (r *splitReader) Read(b []byte) (int, error) {
	if len(r.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+r.rnd.Intn(20))], r.in)
	r.in = r.in[n:]
	return n, nil
}

// differ decodes a stream with the decoder and with the reference, and returns the first
// difference.
func differ(in []byte, seed int64) error {
	rnd := rand.New(rand.NewSource(seed))
	ref := reference{in: string(in), limits: small}
	dec := redis.NewDecoder(bufio.NewReaderSize(&splitReader{bytes.Clone(in), rnd}, 16+rnd.Intn(300)), small)
	consumed := 0
	for len(ref.in) > 0 {
		want, refErr := ref.reply()
		got, err := dec.Decode()
		switch {
		case refErr != nil && err == nil:
			return fmt.Errorf("not a reply, but decoded as %s, at %d of %q", describe(got), consumed, in)
		case refErr == nil && err != nil:
			return fmt.Errorf("%s, but refused with %v, at %d of %q", want, err, consumed, in)
		case refErr != nil:
			if redis.AsErrorx(err) == nil || describe(err) != "error" {
				return fmt.Errorf("an error without type: %v", err)
			}
			return nil
		case describe(got) != want:
			return fmt.Errorf("decoded as %s, which is %s, at %d of %q", describe(got), want, consumed, in)
		}
		consumed += dec.Size()
		if rest := len(in) - len(ref.in); consumed != rest {
			return fmt.Errorf("consumed %d bytes of %d of %q", consumed, rest, in)
		}
	}
	return nil
}

// T11: decoder and reference agree on valid replies and on damaged ones.
func TestT11DecoderAgreesWithReference(t *testing.T) {
	rnd := rand.New(rand.NewSource(seed))
	refused := 0
	for range long(20_000, 3000) {
		var in []byte
		for range 1 + rnd.Intn(3) {
			in = appendReply(in, rnd, 0)
		}
		in = mutate(in, rnd)
		ref := reference{in: string(in), limits: small}
		if _, err := ref.reply(); err != nil {
			refused++
		}
		require.NoError(t, differ(in, rnd.Int63()), "seed %d", seed)
	}
	t.Logf("%d refused", refused)
	for name, reply := range hostile() {
		require.NoError(t, differ([]byte(reply), seed), name)
	}
}

// appendReply appends a random valid reply.
func appendReply(b []byte, rnd *rand.Rand, depth int) []byte {
	text := func() string {
		out := make([]byte, rnd.Intn(8))
		for i := range out {
			out[i] = "ab:$*\x00\xff 1-"[rnd.Intn(10)]
		}
		return string(out)
	}
	most := 16
	if depth > 4 {
		most = 11
	}
	switch rnd.Intn(most) {
	case 0:
		return fmt.Appendf(b, "+%s\r\n", text())
	case 1:
		return fmt.Appendf(b, "-ERR %s\r\n", text())
	case 2:
		return fmt.Appendf(b, ":%d\r\n", rnd.Int63()-rnd.Int63())
	case 3:
		return append(b, []string{"$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n", "$0\r\n\r\n"}[rnd.Intn(5)]...)
	case 4:
		return append(b, []string{"#t\r\n", "#f\r\n", ",inf\r\n", ",-inf\r\n", ",nan\r\n", "+OK\r\n", "+PONG\r\n"}[rnd.Intn(7)]...)
	case 5:
		return fmt.Appendf(b, ",%v\r\n", rnd.NormFloat64())
	case 6:
		return fmt.Appendf(b, "(%d%d\r\n", rnd.Int63(), rnd.Int63())
	case 7:
		s := "txt:" + text()
		return fmt.Appendf(b, "=%d\r\n%s\r\n", len(s), s)
	case 8:
		s := "ERR " + text()
		return fmt.Appendf(b, "!%d\r\n%s\r\n", len(s), s)
	case 9, 10:
		s := strings.Repeat(text(), 1+rnd.Intn(40))
		return fmt.Appendf(b, "$%d\r\n%s\r\n", len(s), s)
	}
	kind, n := "*~%|>"[rnd.Intn(5)], rnd.Intn(4)
	if kind == '>' && depth > 0 {
		kind = '*'
	}
	b = fmt.Appendf(b, "%c%d\r\n", kind, n)
	if kind == '%' || kind == '|' {
		n *= 2
	}
	for range n {
		b = appendReply(b, rnd, depth+1)
	}
	if kind == '|' || kind == '>' {
		b = appendReply(b, rnd, depth)
	}
	return b
}

// mutate damages half of the inputs.
func mutate(b []byte, rnd *rand.Rand) []byte {
	for rnd.Intn(2) == 0 && len(b) > 0 {
		at := rnd.Intn(len(b))
		switch rnd.Intn(4) {
		case 0:
			b[at] ^= 1 << rnd.Intn(8)
		case 1:
			b = append(b[:at], b[at+1:]...)
		case 2:
			b = append(b[:at+1], b[at:]...)
		case 3:
			b = b[:at]
		}
	}
	return b
}

// T11: the memory that the decoder allocates for a hostile reply is in proportion to the bytes that
// arrived.
func TestT11DecoderMemory(t *testing.T) {
	for name, reply := range hostile() {
		in := bufio.NewReader(strings.NewReader(reply))
		before := oracle.TakeAllocated()
		res, _ := redis.ReadResponse(in)
		took := oracle.TakeAllocated() - before
		require.Error(t, redis.AsError(res), name)
		// 8 KiB are for the error itself, and for everything else in the process.
		require.LessOrEqual(t, took, uint64(64<<10+4*len(reply)+8<<10), name)
	}
}

// T11: an encoded request is an array of strings with exactly the arguments.
func TestT11EncoderRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewSource(seed))
	for range long(20_000, 3000) {
		args := make([]any, rnd.Intn(6))
		for i := range args {
			body := make([]byte, rnd.Intn(30))
			_, _ = rnd.Read(body)
			args[i] = []any{
				nil, body, string(body), rnd.Int(), rnd.Int63() - rnd.Int63(), int32(rnd.Uint32()), int16(rnd.Uint32()), int8(rnd.Uint32()),
				uint(rnd.Uint64()), rnd.Uint64(), rnd.Uint32(), uint16(rnd.Uint32()), uint8(rnd.Uint32()),
				rnd.NormFloat64(), float32(rnd.NormFloat64()), rnd.Intn(2) == 0,
			}[rnd.Intn(16)]
		}
		require.NoError(t, roundTrip("CMD", args), "seed %d: %q", seed, args)
	}
}

func roundTrip(cmd string, args []any) error {
	before := []byte("kept")
	out, err := redis.AppendRequest(before, redis.Req(cmd, args...))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(out, before) {
		return fmt.Errorf("what was there is gone: %q", out)
	}
	in := out[len(before):]
	res, n := redis.ReadResponse(bufio.NewReader(bytes.NewReader(in)))
	got, ok := res.([]any)
	if !ok || n != len(in) {
		return fmt.Errorf("read as %s, %d bytes of %d: %q", describe(res), n, len(in), in)
	}
	want := []string{}
	name, sub, both := strings.Cut(cmd, " ")
	if want = append(want, name); both {
		want = append(want, sub)
	}
	for _, arg := range args {
		text, _ := redis.ArgToString(arg)
		want = append(want, text)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, not %d: %q", len(got), len(want), in)
	}
	for i := range want {
		if b, ok := got[i].([]byte); !ok || string(b) != want[i] {
			return fmt.Errorf("element %d is %s, not %q", i, describe(got[i]), want[i])
		}
	}
	return nil
}

func FuzzDecoder(f *testing.F) {
	for _, reply := range hostile() {
		if len(reply) < 1000 {
			f.Add([]byte(reply), int64(0))
		}
	}
	rnd := rand.New(rand.NewSource(1))
	for i := range int64(50) {
		f.Add(appendReply(nil, rnd, 0), i)
	}
	f.Fuzz(func(t *testing.T, in []byte, seed int64) {
		if err := differ(in, seed); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzEncoder(f *testing.F) {
	f.Add("GET", "key", []byte("value"), int64(1), 1.5, true)
	f.Add("CLUSTER SLOTS", "", []byte(nil), int64(-1<<63), math.Copysign(0, -1), false)
	f.Add("ECHO", "\r\n$5\r\n", []byte("*1\r\n\x00\xff"), int64(0), 1e300, true)
	f.Fuzz(func(t *testing.T, cmd, s string, b []byte, n int64, x float64, truth bool) {
		args := []any{s, b, n, x, float32(x), truth, uint64(n), int32(n), nil}
		if _, err := redis.AppendRequest(nil, redis.Req(cmd, args...)); err != nil {
			return // another test covers refused commands
		}
		if err := roundTrip(cmd, args); err != nil {
			t.Fatal(err)
		}
	})
}
