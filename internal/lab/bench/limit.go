package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// limitName is the row of redis-benchmark: pipelining by hand, in C.
const limitName = "redis-benchmark -c 4 -P 64"

// limitRate is what redis-benchmark is expected to reach at least; with the
// duration it gives the number of requests.
const limitRate = 1_000_000

// redisBenchmark measures the server's limit with SET and GET, half each.
func (r *runner) redisBenchmark(c Case) (values, error) {
	host, port, err := net.SplitHostPort(r.lab.Server())
	if err != nil {
		return nil, err
	}
	requests := int(r.duration.Seconds() * limitRate)
	if c.Size > 1<<10 {
		requests /= 20 // big values are slower
	}
	out, err := exec.Command("redis-benchmark", "-h", host, "-p", port, "-c", "4", "-P", "64",
		"-t", "set,get", "-d", strconv.Itoa(c.Size), "-n", strconv.Itoa(requests), "--csv").Output()
	if err != nil {
		return nil, fmt.Errorf("redis-benchmark: %w", err)
	}
	ns, err := parseRedisBenchmark(string(out))
	return values{nsPerOp: ns}, err
}

// parseRedisBenchmark returns the mean of the nanoseconds per SET and per GET.
func parseRedisBenchmark(out string) (float64, error) {
	reader := csv.NewReader(strings.NewReader(out))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	if err != nil {
		return 0, err
	}
	var sum, n float64
	for _, row := range rows {
		if len(row) < 2 || row[0] != "SET" && row[0] != "GET" {
			continue
		}
		rate, err := strconv.ParseFloat(row[1], 64)
		if err != nil || rate <= 0 {
			return 0, fmt.Errorf("redis-benchmark: rate %q", row[1])
		}
		sum += 1e9 / rate
		n++
	}
	if n != 2 {
		return 0, errors.New("redis-benchmark: no SET and GET in its output")
	}
	return sum / n, nil
}
