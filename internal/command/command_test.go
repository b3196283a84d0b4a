package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLookupFindsEveryNameInAnyCase(t *testing.T) {
	for i := range table {
		name := table[i].Name
		require.Same(t, &table[i], Lookup(name), name)
		require.Same(t, &table[i], Lookup(strings.ToLower(name)), name)
		require.Same(t, &table[i], Lookup(name[:1]+strings.ToLower(name[1:])), name)
		require.LessOrEqual(t, len(name), maxName)
	}
	assert.Less(t, len(table), indexSize/2, "the index is too full: double its size")
}

func TestLookupOfUnknownNames(t *testing.T) {
	for _, name := range []string{
		"", " ", "GE", "GETT", "GET ", " GET", "GET\x00", "\x00GET", "GET\r\n", "\x07ET", "ÇET", "g\xe5t",
		"CLIENT  KILL", "CLIENT|KILL", "CLIENT\x00KILL", "GRAPH.QUERY", "GEORADIUSBYMEMBER\x7fRO", "geo-radius",
		strings.Repeat("G", maxName), strings.Repeat("GET", 1000),
	} {
		assert.Nil(t, Lookup(name), "%q", name)
	}
}

func TestReadsOfNewServersAndOfModulesAreSafeForReplicas(t *testing.T) {
	for _, name := range []string{"DIGEST", "VRANGE", "JSON.GET", "JSON.MGET", "JSON.DEBUG MEMORY", "TS.RANGE", "BF.EXISTS"} {
		assert.True(t, Lookup(name).Is(ReplicaSafe), name)
	}
	for _, name := range []string{"CLUSTERSCAN", "DELEX", "JSON.SET", "TS.MADD", "TS.MGET", "BF.ADD"} {
		assert.False(t, Lookup(name).Is(ReplicaSafe), name)
	}
}

func TestTableKnowsTheNewestCommands(t *testing.T) {
	for _, name := range []string{
		"WAITAOF", "HEXPIRE", "HPEXPIREAT", "HGETEX", "CLIENT NO-TOUCH", "CLIENT SETINFO", "CLIENT CAPA",
		"CLIENT IMPORT-SOURCE", "CLUSTER MYSHARDID", "CLUSTER SLOT-STATS", "SCRIPT SHOW", "COMMANDLOG GET",
		"CLUSTER MIGRATESLOTS", "CLUSTER MIGRATION", "CLUSTERSCAN", "DELEX", "DELIFEQ", "HOTKEYS GET", "MSETEX",
	} {
		assert.NotNil(t, Lookup(name), name)
	}
}

func TestIsOfNil(t *testing.T) {
	assert.False(t, Lookup("NOSUCH").Is(ReadOnly|Blocking))
}

func FuzzLookup(f *testing.F) {
	for _, seed := range []string{"get", "Client Kill", "x\x00", "HSET ", "_[]{}@`"} {
		f.Add(seed)
	}
	names := make(map[string]bool)
	for i := range table {
		names[table[i].Name] = true
	}
	f.Fuzz(func(t *testing.T, name string) {
		upper := []byte(name)
		for i, b := range upper {
			if 'a' <= b && b <= 'z' {
				upper[i] = b - 32
			}
		}
		info := Lookup(name)
		if got, want := info != nil, names[string(upper)]; got != want {
			t.Fatalf("Lookup(%q): found %v, want %v", name, got, want)
		}
		if info != nil && info.Name != string(upper) {
			t.Fatalf("Lookup(%q) = %s", name, info.Name)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	for _, name := range []string{"GET", "set", "ZRANGEBYSCORE", "cluster slots", "JSON.GET"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Lookup(name)
			}
		})
	}
}
