package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed files are those that the records and the rules produce.
func TestIsGenerated(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, generate(".", dir))
	committed := filepath.Join("..", "..", "..", "cmd")
	have, err := filepath.Glob(filepath.Join(committed, "*_gen.go"))
	require.NoError(t, err)
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, have, len(made))
	for _, file := range made {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, filepath.Base(file)))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run go generate in cmd")
	}
}

// A record is read as it was written.
func TestRecord(t *testing.T) {
	files, err := filepath.Glob("servers/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		docs, err := parseRecord(text)
		require.NoError(t, err)
		again, err := parseRecord(formatDocs(docs))
		require.NoError(t, err)
		require.Equal(t, docs, again, file)
	}
	_, err = parseRecord([]byte("GET | string\n\t\t\tkey | key | -\n"))
	require.ErrorContains(t, err, "too deep")
	_, err = parseRecord([]byte("GET | string\n\tkey | key | unquoted\n"))
	require.ErrorContains(t, err, "not a token")
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"HGETALL": "HGetAll", "CLIENT NO-EVICT": "ClientNoEvict", "ZRANGEBYSCORE": "ZRangeByScore", "EVALSHA_RO": "EvalSHARO",
		"PTTL": "PTTL", "XINFO STREAM": "XInfoStream",
	} {
		require.Equal(t, want, goName(name))
	}
	require.Equal(t, "FILTEREF", tokenName("FILTER-EF"))
}

// Commands that only an older or another server has are kept.
func TestMerge(t *testing.T) {
	parse := func(text string) []*arg {
		docs, err := parseRecord([]byte("SET | string\n" + text))
		require.NoError(t, err)
		return docs[0].args
	}
	newer := parse("\tkey | key | -\n\tcondition | oneof | - | optional\n\t\tnx | pure-token | \"NX\"\n\tget | pure-token | \"GET\" | optional\n")
	older := parse("\tkey | key | -\n\tcondition | oneof | - | optional\n\t\tnx | pure-token | \"NX\"\n\t\tifeq | string | \"IFEQ\"\n\tsafe | pure-token | \"SAFE\" | optional\n")
	merged := formatDocs([]*doc{{name: "SET", args: mergeArgs(newer, older)}})
	require.Equal(t, "key condition nx ifeq safe get", strings.Join(names(mergeArgs(newer, older)), " "), string(merged))
}

func names(args []*arg) (list []string) {
	for _, a := range args {
		list = append(append(list, a.name), names(a.args)...)
	}
	return list
}
