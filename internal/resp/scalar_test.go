package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that does not change is read as Set reads it.
func TestSetText(t *testing.T) {
	for _, text := range []string{"", "12", "1.5", "true", "no number", strings.Repeat("x", 2*64)} {
		for _, kind := range []Kind{NoKind, Bytes, String, Int, Float, Bool} {
			got, want := Scalar{Kind: kind}, Scalar{Kind: kind}
			require.Equal(t, want.Set([]byte(text)), got.SetText(text), "%q as %d", text, kind)
			require.Equal(t, want, got)
		}
	}
	s := Scalar{Kind: Bytes, Bytes: make([]byte, 0, 8)}
	room := s.Bytes[:1]
	require.True(t, s.SetText("abc"))
	require.Same(t, &room[0], &s.Bytes[0])
}
