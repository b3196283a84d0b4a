package cmd_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrong has programs that must not compile, by the mistake in each. right has similar programs that
// must compile.
var wrong = map[string]string{
	"an option of another command":                     `cmd.Set("k", "v", nil, cmd.GT)`,
	"an option of another command among options":       `cmd.Scan(0, cmd.WITHDIST)`,
	"two alternatives at once":                         `cmd.Set("k", "v", cmd.NX, cmd.XX)`,
	"two expirations at once":                          `cmd.Set("k", "v", cmd.EX(time.Minute), cmd.PX(time.Minute))`,
	"three alternatives":                               `cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX, cmd.XX)`,
	"two alternatives of one choice":                   `cmd.Expire("k", time.Minute, cmd.NX, cmd.XX)`,
	"what KEEPTTL is to SET and not to GETEX":          `cmd.GetEx[string]("k", cmd.KEEPTTL)`,
	"a bare number of seconds":                         `cmd.EX(60)`,
	"a bare number of milliseconds":                    `cmd.PExpire("k", 60000, nil)`,
	"a number of seconds where milliseconds are meant": `cmd.PX(60)`,
	"a bare number for a time":                         `cmd.EXAT(1700000000)`,
	"a bare number for a time-out":                     `cmd.BLPop[string]([]string{"k"}, 1)`,
	"a string for a float":                             `cmd.IncrByFloat("k", "1.5")`,
	"a string for a score":                             `cmd.ZCount("k", "1", "5")`,
	"a float for an integer":                           `cmd.IncrBy("k", 1.5)`,
	"a string for an integer":                          `cmd.LRange[string]("k", "0", "-1")`,
	"a unit for a token":                               `cmd.GeoDist("k", "a", "b", "km")`,
	"a token of another choice":                        `cmd.LMove[string]("a", "b", cmd.LEFT, cmd.MAX)`,
	"a type of no argument":                            `cmd.Set("k", struct{}{}, nil, nil)`,
	"a duration as a value":                            `cmd.Set("k", time.Minute, nil, nil)`,
	"no member":                                        `cmd.SAdd("k")`,
	"a variable of another type than the result":       `cmd.Incr("k").Into(new(string))`,
	"a result of another type":                         `func() (string, error) { return cmd.Incr("k").Do(nil, nil) }`,
	"an option of one's own":                           `cmd.Set("k", "v", own{}, nil)`,
	"an option that changes the form of the reply":     `cmd.ZRange[string]("k", 0, -1, nil, cmd.WITHSCORES)`,
}

var right = []string{
	`cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX)`,
	`cmd.Set("k", "v", nil, nil)`,
	`cmd.Scan(0, cmd.COUNT(10), cmd.MATCH("*"))`,
	`cmd.Expire("k", time.Minute, cmd.NX)`,
	`cmd.EX(60 * time.Second)`,
	`cmd.PX(redis.Seconds(time.Minute))`,
	`cmd.BLPop[string]([]string{"k"}, time.Second)`,
	`cmd.IncrByFloat("k", 1.5)`,
	`cmd.ZCount("k", cmd.Score(1), cmd.Beyond(5))`,
	`cmd.Incr("k").Into(new(int64))`,
	`func() (int64, error) { return cmd.Incr("k").Do(nil, nil) }`,
	`cmd.ZRange[string]("k", 0, -1, nil, cmd.REV)`,
}

func TestDoesNotCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("it has one goroutine: the race detector finds nothing in it")
	}
	fset, exported := token.NewFileSet(), exports(t)
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })
	check := func(expr string) error {
		source := `package p
import ("time"; "github.com/joomcode/redispipe/cmd"; "github.com/joomcode/redispipe/redis")
type own struct{}
func (own) isSetExpiration() {}
var _ redis.Command = cmd.Ping()
var _ = time.Second
var _ = ` + expr
		file, err := parser.ParseFile(fset, "p.go", source, 0)
		require.NoError(t, err, expr)
		_, err = (&types.Config{Importer: from}).Check("p", fset, []*ast.File{file}, nil)
		return err
	}
	for _, expr := range right {
		require.NoError(t, check(expr), expr)
	}
	for what, expr := range wrong {
		assert.Error(t, check(expr), "%s: %s", what, expr)
	}
}

// exports returns the files of export data, written by the compiler, of cmd and of each package that
// cmd imports. Type-checking all these packages from source takes seconds.
func exports(t *testing.T) map[string]string {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files
}
