package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
)

func TestList(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	const source = `package p
import ("context"; "io")
const Size, small = 1 << 10, 1
const Name = "a\tb"
var Default func(ctx context.Context, n int) (done bool, err error)
func Join(sep string, parts ...interface{}) string { return "" }
func Map[K comparable, V any](m map[K]V) (_ []K) { return nil }
type Number interface{ ~int | ~float64 }
type Sender interface { Send(p []byte) error; io.Closer }
type Closed interface { Do(); private() }
type Reader = io.Reader
type Kind uint8
func (k Kind) String() string { return "" }
type Conn struct { Addr string; hidden int; Sender }
func (c *Conn) Close() error { return nil }
func (c *Conn) private() {}
type hidden struct { Field int }
`
	want := `pkg p, const Name untyped string = "a\tb"
pkg p, const Size untyped int = 1024
pkg p, func Join(string, ...any) string
pkg p, func Map[K comparable, V any](map[K]V) []K
pkg p, method (*Conn) Close() error
pkg p, method (Conn) Send([]byte) error
pkg p, method (Kind) String() string
pkg p, type Closed interface, Do()
pkg p, type Closed interface, unexported methods
pkg p, type Conn struct
pkg p, type Conn struct, Addr string
pkg p, type Conn struct, embedded p.Sender
pkg p, type Kind uint8
pkg p, type Number interface{~int | ~float64}
pkg p, type Reader = io.Reader
pkg p, type Sender interface { Close, Send }
pkg p, type Sender interface, Close() error
pkg p, type Sender interface, Send([]byte) error
pkg p, var Default func(context.Context, int) (bool, error)`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, 0)
	require.NoError(t, err)
	imports, err := compile("context", "io")
	require.NoError(t, err)
	config := types.Config{Importer: imports}
	pkg, err := config.Check("p", files, []*ast.File{file}, nil)
	require.NoError(t, err)
	assert.Equal(t, want, strings.Join(list(pkg), "\n"))
}

func TestCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "api")
	have := map[string][]string{"a": {"pkg a, func F()"}, "a/b": {"pkg b, func G()", "pkg b, func H()"}}
	assert.ErrorContains(t, check(dir, have, false), "not listed in api: make generate adds it: pkg b, func H()")
	require.NoError(t, check(dir, have, true))
	require.NoError(t, check(dir, have, false))
	text, err := os.ReadFile(filepath.Join(dir, "a", "b.txt"))
	require.NoError(t, err)
	assert.Equal(t, "pkg b, func G()\npkg b, func H()\n", string(text))

	// If a name was removed or changed, its old line stays on the list.
	changed := map[string][]string{"a": {"pkg a, func F(int)"}}
	for _, write := range []bool{false, true, true} {
		err := check(dir, changed, write)
		assert.ErrorContains(t, err, "programs would break: pkg a, func F()")
		assert.ErrorContains(t, err, "programs would break: pkg b, func G()", "the package is gone")
		assert.Equal(t, !write, strings.Contains(err.Error(), "func F(int)"))
	}
}

// The lists are those of this module, no matter in which directory the test runs.
func TestExported(t *testing.T) {
	if !drill.InFull {
		t.Skip("it compiles the library; make lint also does, and compares the lists")
	}
	m, err := findModule()
	require.NoError(t, err)
	have, err := m.exported()
	require.NoError(t, err)
	assert.Contains(t, have["redispipe"], "pkg redispipe, type Client struct", "the root")
	assert.Contains(t, have["redis"], "pkg redis, func Req(string, ...any) redis.Request")
	assert.Contains(t, have["redisconn"], "pkg redisconn, method (Credentials) String() string", "an alias of what programs can't import")
	assert.Contains(t, have["rediscluster/redisclusterutil"], "pkg redisclusterutil, func CRC16([]byte) uint16")
	for path := range have {
		assert.NotContains(t, path, "internal")
	}
}
