package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSinces(t *testing.T) {
	said := sinces{}
	for _, record := range []struct{ server, text string }{
		{"valkey-8.1", "\tnx | oneof | - | optional | 2.6.12\n\t\tnx | pure-token | \"NX\"\n\t\tifeq | string | \"IFEQ\" |  | 8.1.0\n\tget | pure-token | \"GET\" | optional | 6.2.0\n\tsafe | pure-token | \"SAFE\" | optional | 9.0.0\n"},
		{"redis-8.10", "\tnx | oneof | - | optional | 2.6.12\n\t\tnx | pure-token | \"NX\"\n\t\tifeq | string | \"IFEQ\" |  | 8.10.0\n\tget | pure-token | \"GET\" | optional | 6.2.0\n\tcount | integer | - | optional | 8.4.0\n\told | pure-token | \"OLD\" | optional | 1.0.0\n"},
	} {
		docs, err := parseRecord([]byte("SET | string | 1.0.0\n\tkey | key | - |  | 3.0.0\n" + record.text))
		require.NoError(t, err)
		said.note(family(record.server), docs[0], docs[0].args, "")
	}
	for label, want := range map[string]string{
		"NX": "Redis 2.6.12", "IFEQ": "Redis 8.10.0 and Valkey 8.1.0", "GET": "Redis 6.2.0", "SAFE": "Valkey 9.0.0",
		"count": "Redis 8.4.0", "OLD": "", "key": "", "none": "",
	} {
		require.Equal(t, want, said.of(label), label)
	}
	require.Equal(t, "Redis 8.10.0 and Valkey 8.1.0", said.of("GET", "IFEQ"), "the latest counts")
	f := &fn{doc: &doc{sinces: said}, syntax: []string{"key", "[NX | IFEQ value]", "[GET] [OLD] [SAFE]", "[count]"}}
	require.Equal(t, "NX since Redis 2.6.12; GET since Redis 6.2.0; IFEQ since Redis 8.10.0 and Valkey 8.1.0; count since Redis 8.4.0; SAFE since Valkey 9.0.0", f.newOptions())
	m := &maker{of: []string{"SET", "GETEX"}, body: []string{`r.token("NX")`}}
	require.Equal(t, "GETEX, SET (since Redis 2.6.12)", m.commands(map[string]*doc{"SET": f.doc, "GETEX": {}}))
}
