package main

import (
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// The usage example works, and leaves no goroutine.
func TestUsage(t *testing.T) {
	m := miniredis.RunT(t)
	m.RequireAuth("sesame")
	require.NoError(t, usage(testContext(t), m.Addr(), "sesame"))
	require.Empty(t, m.Keys())
}

func TestFormat(t *testing.T) {
	for want, res := range map[string]any{
		"OK":               "OK",
		`"bytes"`:          []byte("bytes"),
		"7":                int64(7),
		"<nil>":            nil,
		"broken":           errors.New("broken"),
		`[1 ["a"] broken]`: []any{int64(1), []any{[]byte("a")}, errors.New("broken")},
	} {
		require.Equal(t, want, format(res))
	}
}
