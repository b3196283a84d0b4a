package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000",
	} {
		require.Equal(t, want, thousands(n))
	}
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234: "1.23µs", 123456: "123µs", 1234567: "1.23ms", 123456789: "123.5ms",
	} {
		require.Equal(t, want, round(d))
	}
}
