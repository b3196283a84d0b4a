package resp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
)

// SetText reads a text in the same way as Set.
func TestSetText(t *testing.T) {
	for _, text := range []string{"", "12", "1.5", "true", "no number", strings.Repeat("x", 2*64)} {
		for _, kind := range []resp.Kind{resp.NoKind, resp.Bytes, resp.String, resp.Int, resp.Float, resp.Bool} {
			got, want := resp.Scalar{Kind: kind}, resp.Scalar{Kind: kind}
			require.Equal(t, want.Set([]byte(text)), got.SetText(text), "%q as %d", text, kind)
			require.Equal(t, want, got)
		}
	}
	s := resp.Scalar{Kind: resp.Bytes, Bytes: make([]byte, 0, 8)}
	room := s.Bytes[:1]
	require.True(t, s.SetText("abc"))
	require.Same(t, &room[0], &s.Bytes[0])
}
