package cmd_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is a template of a program with a client. Its verbs stand for an import and for calls.
const program = `package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/joomcode/redispipe"
	%s
)

func main() {
	ctx := context.Background()
	db, err := redispipe.Open(ctx, os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println(time.Minute)
	%s
}
`

const withDo = `
	fmt.Println(db.Do(ctx, "GET", "k"))
	fmt.Println(db.Do(ctx, "SET", "k", "v", "EX", 60, "NX"))
	fmt.Println(db.Do(ctx, "INCR", "n"))
	fmt.Println(db.Do(ctx, "HGETALL", "h"))
	fmt.Println(db.Do(ctx, "ZRANGE", "z", 0, -1, "REV"))`

const withCommands = `
	fmt.Println(cmd.Get[string]("k").Do(ctx, db))
	fmt.Println(cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX).Do(ctx, db))
	fmt.Println(cmd.Incr("n").Do(ctx, db))
	fmt.Println(cmd.HGetAll[map[string]string]("h").Do(ctx, db))
	fmt.Println(cmd.ZRange[string]("z", 0, -1, nil, cmd.REV).Do(ctx, db))`

// A program with five commands is little larger than one with Do, because the linker drops the functions
// that a program does not call.
func TestSize(t *testing.T) {
	do := sizeOf(t, fmt.Sprintf(program, "", withDo))
	commands := sizeOf(t, fmt.Sprintf(program, `"github.com/joomcode/redispipe/cmd"`, withCommands))
	t.Logf("%d bytes with Do, %d more with commands", do, commands-do)
	require.Greater(t, commands, do)
	require.LessOrEqual(t, commands-do, 54<<10)
}

// sizeOf compiles a program without symbols and returns the sum of its sections. The size of the file
// would include padding.
func sizeOf(t *testing.T, source string) (size int) {
	dir := t.TempDir()
	file, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, file)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" { // compile for one platform only, to use the build cache
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	}
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := elf.Open(binary)
	require.NoError(t, err)
	defer program.Close()
	for _, section := range program.Sections {
		if section.Type != elf.SHT_NOBITS {
			size += int(section.FileSize)
		}
	}
	return size
}
