package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample returns the results of a small run, in which this library is twice as fast as the best
// other client with 128 callers.
func sample() *Results {
	r := newResults()
	for _, x := range []float64{100, 900, 110} {
		r.add(key{"c128", ours}, values{nsPerOp: x, serverCPU: 50})
	}
	r.add(key{"c128", "rueidis"}, values{nsPerOp: 220, serverCPU: 40})
	r.add(key{"c128", "redigo"}, values{nsPerOp: 1_234_567, serverCPU: 90})
	r.add(key{"c1", ours}, values{nsPerOp: 130, allocsPerOp: 1})
	r.add(key{"c1", floor}, values{nsPerOp: 100})
	r.add(key{"c1", "redigo"}, values{nsPerOp: 120})
	r.add(key{"limit-16", limitName}, values{nsPerOp: 55})
	return r
}

func TestMedian(t *testing.T) {
	r := sample()
	x, ok := r.median("c128", ours, nsPerOp)
	assert.True(t, ok)
	assert.EqualValues(t, 110, x)
	r.add(key{"c128", ours}, values{nsPerOp: 130})
	x, _ = r.median("c128", ours, nsPerOp)
	assert.EqualValues(t, 120, x)
	_, ok = r.median("c128", ours, p99)
	assert.False(t, ok)
}

func TestBestIsAPeer(t *testing.T) {
	x, client, ok := sample().best("c1", nsPerOp)
	assert.True(t, ok)
	assert.EqualValues(t, 120, x, "neither ours nor the floor")
	assert.Equal(t, "redigo", client)
}

func TestBestKeptThePace(t *testing.T) {
	r := newResults()
	r.add(key{"rate-50k", "redigo"}, values{p99: 1, achieved: 50})
	r.add(key{"rate-50k", "radix"}, values{p99: 2, achieved: 99})
	_, client, ok := r.best("rate-50k", p99)
	assert.True(t, ok)
	assert.Equal(t, "radix", client)
}

func TestTargets(t *testing.T) {
	r := sample()
	got := map[string]bool{}
	for _, g := range targets() {
		if x, _, ok := g.measure(r); ok {
			got[g.Case+" "+g.Text] = g.met(x)
		}
	}
	assert.Equal(t, map[string]bool{
		"c1 time ÷ bare socket":               false,
		"c1 time ÷ best peer":                 false,
		"c128 time ÷ best peer":               true,
		"c128 Redis CPU ÷ best peer":          false,
		"c1 allocations, SET and GET in turn": true,
	}, got)
}

func TestTargetsOfRates(t *testing.T) {
	r := sample()
	r.add(key{"c1000", ours}, values{nsPerOp: 60})
	x, beside, ok := rateOfLimit("c1000")(r)
	assert.True(t, ok)
	assert.Equal(t, limitName, beside)
	assert.InDelta(t, 55.0/60, x, 1e-9)

	r.add(key{"delay-1ms", floor}, values{p50: 1000})
	r.add(key{"delay-1ms", ours}, values{nsPerOp: 1e6 / 128})
	x, _, ok = rateOfRoundTrip("delay-1ms", 128)(r)
	assert.True(t, ok)
	assert.InDelta(t, 1, x, 1e-9)
}

func TestTargetsNameCases(t *testing.T) {
	for _, g := range targets() {
		_, ok := find(g.Case)
		assert.True(t, ok, g.Case)
	}
}

func TestMarkdown(t *testing.T) {
	r := sample()
	r.failed[key{"c8", "radix"}] = assert.AnError
	text := report{Results: r, about: "ABOUT\n"}.markdown()
	assert.Contains(t, text, "ABOUT")
	assert.Contains(t, text, "| 128 callers | 110 (0.50) | – | 1,234,567 (5611.67) | 220 (1.00) | 55.0 | – | 50.0 |")
	assert.Contains(t, text, "| 128 callers | time ÷ best peer | rueidis | ≤ 0.70 | 0.500 | met |")
	assert.Contains(t, text, "| 1 caller | time ÷ bare socket | bare socket | ≤ 1.05 | 1.300 | **missed** |")
	assert.Contains(t, text, "`c8`, radix: "+assert.AnError.Error())
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 0.126: "0.13", 12.34: "12.3", 123.4: "123", 1234.4: "1,234", 1e6: "1,000,000", -2500: "-2,500",
	} {
		assert.Equal(t, want, number(x))
	}
}

func TestFilesReadBackAndDrawAgain(t *testing.T) {
	r := sample()
	r.add(key{"c8", ours}, values{nsPerOp: 800, serverCPU: 100})
	r.add(key{"c8", "rueidis"}, values{nsPerOp: 900, serverCPU: 200})
	dir := t.TempDir()
	require.NoError(t, report{Results: r, about: "ABOUT\n"}.write(dir))

	again, err := readCSV(filepath.Join(dir, "results.csv"))
	require.NoError(t, err)
	assert.Equal(t, r.csv(), again.csv())
	assert.Equal(t, r.all("c128", ours, nsPerOp), again.all("c128", ours, nsPerOp))

	svg, err := os.ReadFile(filepath.Join(dir, "throughput.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), ">redispipe<")
	assert.Contains(t, string(svg), "sans-serif")
	_, err = os.Stat(filepath.Join(dir, "latency.svg"))
	assert.True(t, os.IsNotExist(err), "no plot without points")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.csv"), []byte("a,b\n"), 0o600))
	_, err = readCSV(filepath.Join(dir, "bad.csv"))
	assert.Error(t, err)
}

func TestParseRedisBenchmark(t *testing.T) {
	out := strings.Join([]string{
		`"test","rps","avg_latency_ms"`, `"SET","2000000.00","0.1"`, `"GET","2500000.00","0.1"`,
	}, "\n")
	ns, err := parseRedisBenchmark(out)
	require.NoError(t, err)
	assert.InDelta(t, 450, ns, 1e-6)
	for _, bad := range []string{"", `"SET","0"`, `"SET","x"`, `"SET","1"`} {
		_, err := parseRedisBenchmark(bad)
		assert.Error(t, err, bad)
	}
}
