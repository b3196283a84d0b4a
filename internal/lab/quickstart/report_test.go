package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/live"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000",
	} {
		require.Equal(t, want, thousands(n))
	}
}

func TestWrap(t *testing.T) {
	word := strings.Repeat("µ", 15)
	require.Equal(t, "  "+word+" "+word+"\n  "+word, wrap("  ", word+" "+word+"  "+word))
	require.Equal(t, "  "+strings.Repeat("a", 78), wrap("  ", strings.Repeat("a", 78)), "80 columns")
	require.Equal(t, "  "+strings.Repeat("a", 77)+"\n  b\n  "+strings.Repeat("c", 90), wrap("  ", strings.Repeat("a", 77)+" b "+strings.Repeat("c", 90)))
	require.Equal(t, "  ", wrap("  ", ""))
}

// The live view of a thousand goroutines fits a terminal of 80 columns, whose last lines it replaces.
func TestLiveFits(t *testing.T) {
	to := statsOf(2_345_670)
	to.InFlight, to.Queued, to.Unknown = 1000, 1000, 1000
	text := "  a replica takes over gracefully, 10.0 s, 12,345 errors so far:\n    " + shown(live.Sample{}, live.Of(to), time.Second) + "\n"
	for line := range strings.SplitSeq(text, "\n") {
		require.LessOrEqual(t, len(line), width, line)
	}
	require.Equal(t, "\x1b[3A\r\x1b[J", removal(text))
	require.Empty(t, removal(""))
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234: "1.23µs", 123456: "123µs", 1234567: "1.23ms", 123456789: "123.5ms",
	} {
		require.Equal(t, want, round(d))
	}
}
