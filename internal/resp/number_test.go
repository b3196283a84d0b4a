package resp_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// A double that does not fit into a float64, or that is longer than a header line may be, is
// returned as text, as with RESP2. The next reply is read correctly. Servers may calculate with
// long doubles.
func TestLongNumbers(t *testing.T) {
	long := strings.Repeat("9", 4933)
	for _, text := range []string{"1" + strings.Repeat("0", 309), "-" + long, long + ".5", "1e309"} {
		for _, limits := range []resp.Limits{{}, {Line: 32}} {
			d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(","+text+"\r\n:7\r\n"), 16), limits)
			res, err := d.Decode()
			require.NoError(t, err)
			require.Equal(t, []byte(text), res)
			res, err = d.Decode()
			require.NoError(t, err)
			require.Equal(t, int64(7), res)
		}
	}
	d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader("("+long+"\r\n"), 16), resp.Limits{Line: 32})
	res, err := d.Decode()
	require.NoError(t, err)
	text, _ := resp.AppendResult(nil, res)
	require.Equal(t, long, string(text))
}

// Lines with numbers have their own bound. Other lines have that of Limits.
func TestLinesAreBounded(t *testing.T) {
	for _, c := range []struct {
		text   string
		limits resp.Limits
	}{
		{"," + strings.Repeat("9", 70<<10) + "\r\n", resp.Limits{}},
		{"(" + strings.Repeat("9", 70<<10) + "\r\n", resp.Limits{Line: 32}},
		{"," + strings.Repeat("9", 100) + "\r\n", resp.Limits{Line: 32, Bulk: 64}},
		{":" + strings.Repeat("0", 100) + "1\r\n", resp.Limits{Line: 32}},
		{"+" + strings.Repeat("x", 100) + "\r\n", resp.Limits{Line: 32}},
	} {
		_, err := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(c.text), 16), c.limits).Decode()
		assertType(t, errs.ErrHeaderlineTooLarge, err)
	}
}

func TestParseWhole(t *testing.T) {
	for text, want := range map[string]int64{
		"7": 7, "-7": -7, "1e3": 1000, "1E+3": 1000, "1.5e1": 15, "-1.5e+01": -15, "1.50e1": 15, "0e5": 0,
		"1.764288e+18": 1764288000000000000, "1e+17": 100000000000000000,
		"1.152921504606847e+18":    1 << 60, // as Redis 7.0 writes it
		"1.2345678901234568e+17":   123456789012345680,
		"1.234567890123456789e+18": 1234567890123456789, // more digits than a float64 has
		"9.223372036854775807e18":  1<<63 - 1, "-9.223372036854775808e18": -1 << 63,
	} {
		got, ok := resp.ParseWhole(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "e", "1e", "e1", "1.5", "1.0", "1.5e0", "1.55e1", "1e-1", "10e-1", "1e+19", "-1e19", "9.223372036854775808e18", "1e1e1", "1.e3", ".1e3",
		"1e999999999999", "--1e3", "1-e3", "1e3 ", "inf", "nan", "0x1p3", "1_0e3", "1.0000000000000000000000000000001e3",
	} {
		_, ok := resp.ParseWhole(text)
		require.False(t, ok, text)
	}
	got, ok := resp.ParseUint([]byte("1.8446744073709551615e19"))
	require.True(t, ok)
	require.Equal(t, uint64(1<<64-1), got)
	for _, text := range []string{"-1e3", "1.8446744073709551616e19"} {
		_, ok = resp.ParseUint([]byte(text))
		require.False(t, ok, text)
	}
}
