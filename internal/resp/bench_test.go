package resp_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/joomcode/redispipe/internal/resp"
)

// repeating is a reader that delivers a text over and over.
type repeating struct {
	text string
	at   int
}

func (r *repeating) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], r.text[r.at:])
		n, r.at = n+m, (r.at+m)%len(r.text)
	}
	return n, nil
}

// benchReplies returns a reply of each kind that is read differently.
func benchReplies() map[string]string {
	list := func(n int, el string) string { return fmt.Sprintf("*%d\r\n%s", n, strings.Repeat(el, n)) }
	str := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("x", n)) }
	return map[string]string{
		"ok": "+OK\r\n", "status": "+string\r\n", "int": ":12345\r\n", "negative": ":-5\r\n", "null": "$-1\r\n",
		"str3": str(3), "str100": str(100), "str10k": str(10000), "str1M": str(1 << 20),
		"double": ",3.25\r\n", "true": "#t\r\n", "verbatim": "=8\r\ntxt:a\r\nb\r\n", "error": "-ERR syntax error\r\n",
		"ints100": list(100, ":12\r\n"), "strs100": list(100, str(10)), "pairs": list(10, list(2, str(10))),
		"map": "%5\r\n" + strings.Repeat(str(5)+str(20), 5),
	}
}

func benchDecoder(text string) *resp.Decoder {
	return resp.NewDecoder(bufio.NewReaderSize(&repeating{text: text}, 16<<10), resp.Limits{})
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range benchReplies() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			d := benchDecoder(text)
			for b.Loop() {
				if _, err := d.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkComplete decodes replies that are complete in the buffer, like callers that read their
// own replies.
func BenchmarkComplete(b *testing.B) {
	for name, text := range benchReplies() {
		if len(text) > 10<<10 {
			continue // larger than the buffer
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			d := benchDecoder(text)
			for b.Loop() {
				for !d.Complete() {
					if err := d.AwaitMore(); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := d.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCommand(b *testing.B) {
	for name, args := range map[string][]any{
		"set": {"key", "value"}, "bytes": {"key", []byte("value")}, "ints": {"key", 1, 12345, int64(-7), uint64(1 << 60)},
		"floats": {"key", 2.5, 1e6, float32(0.1)}, "large": {"key", strings.Repeat("x", 100<<10)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 128<<10)
			for b.Loop() {
				if _, bad := resp.AppendCommand(buf, "SET", args); bad >= 0 {
					b.Fatal(bad)
				}
			}
		})
	}
}
