package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// csvHead is the first line. Each further line has a case, a client and a metric, with the value of
// each round.
var csvHead = []string{"case", "client", "metric", "median", "rounds"}

// csv writes all results.
func (r *Results) csv() string {
	keys := make([]key, 0, len(r.runs))
	for k := range r.runs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return strings.Compare(a.Case+"\x00"+a.Client, b.Case+"\x00"+b.Client)
	})
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(csvHead) // writing to a strings.Builder never fails
	for _, k := range keys {
		for _, m := range allMetrics {
			middle, ok := r.median(k.Case, k.Client, m)
			if !ok {
				continue
			}
			var rounds []string
			for _, v := range r.runs[k] {
				if x, has := v[m]; has {
					rounds = append(rounds, digits(x))
				}
			}
			_ = w.Write([]string{k.Case, k.Client, string(m), digits(middle), strings.Join(rounds, " ")})
		}
	}
	w.Flush()
	return b.String()
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// readCSV reads the output of csv.
func readCSV(path string) (*Results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], csvHead) {
		return nil, errors.New("not a results.csv of this version")
	}
	r := newResults()
	for _, row := range rows[1:] {
		k, m := key{row[0], row[1]}, metric(row[2])
		for i, text := range strings.Fields(row[4]) {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", k, err)
			}
			if i == len(r.runs[k]) {
				r.add(k, values{})
			}
			r.runs[k][i][m] = x
		}
	}
	return r, nil
}
