package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/live"
)

// watch shows what another process does, until ctx is done. Once per interval it reads the URL: a
// page of package expvar or of contrib/redisdebug, or metrics of package redisprom.
func watch(ctx context.Context, url string, interval time.Duration, out io.Writer) error {
	before, err := fetch(ctx, url)
	if err != nil {
		return err
	}
	for last := time.Now(); ; {
		pause(ctx, interval)
		if ctx.Err() != nil {
			return nil
		}
		after, err := fetch(ctx, url)
		if err != nil {
			fmt.Fprintln(out, err)
			continue
		}
		now := time.Now()
		for _, name := range slices.Sorted(maps.Keys(after)) {
			fmt.Fprintf(out, "%s: %s\n", name, shown(before[name], after[name], now.Sub(last)))
		}
		before, last = after, now
	}
}

// pageMost bounds the size of a page.
const pageMost = 64 << 20

// fetch returns the samples on a page by the names of their variables. The metrics on a page are
// one sample.
func fetch(ctx context.Context, url string) (map[string]live.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	page, err := io.ReadAll(io.LimitReader(res.Body, pageMost))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, res.Status)
	}
	samples := parsePage(page)
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s has no statistics of redispipe: see docs/operating.md", url)
	}
	return samples, nil
}

func parsePage(page []byte) map[string]live.Sample {
	samples := make(map[string]live.Sample)
	if !bytes.HasPrefix(bytes.TrimSpace(page), []byte("{")) {
		if s, ok := live.ParseMetrics(string(page)); ok {
			samples["all nodes"] = s
		}
		return samples
	}
	var variables map[string]json.RawMessage
	if json.Unmarshal(page, &variables) != nil {
		return nil
	}
	for name, text := range variables {
		if s, ok := live.Parse(text); ok {
			samples[name] = s
		}
		var parts []json.RawMessage // on the page of contrib/redisdebug
		if json.Unmarshal(text, &parts) != nil {
			continue
		}
		for _, part := range parts {
			var named struct{ Name string }
			if s, ok := live.Parse(part); ok && json.Unmarshal(part, &named) == nil {
				samples[named.Name] = s
			}
		}
	}
	return samples
}
