package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/live"
)

// shown describes what happened between two samples. All lines but the first are indented.
func shown(from, to live.Sample, elapsed time.Duration) string {
	cached := ""
	if to.Cache.MaxBytes > 0 {
		if cached = shownCache(from.Cache, to.Cache, elapsed); to.Writes == 0 {
			return cached
		}
		cached = ";\n    " + cached
	}
	rates := live.Between(from, to, elapsed)
	var line strings.Builder
	fmt.Fprintf(&line, "%s requests/s, %s failed, %.1f/write, %.0f in flight, %.0f queued;\n    mean",
		thousands(int64(rates.PerSecond)), thousands(int64(rates.Failed)), rates.PerWrite, to.InFlight, to.Queued)
	for i, stage := range live.Stages {
		fmt.Fprintf(&line, " %s %s", stage, round(rates.Mean[i]))
	}
	return line.String() + cached
}

// shownCache describes what a cache did between two samples.
func shownCache(from, to live.Cache, elapsed time.Duration) string {
	rates := live.BetweenCaches(from, to, elapsed)
	return fmt.Sprintf("cache: %s reads/s, %.1f %% hits; %.1f of %.1f MiB;\n    %.0f of %.0f masters tell of changes",
		thousands(int64(rates.PerSecond)), 100*rates.Hits, to.Bytes/(1<<20), to.MaxBytes/(1<<20), to.Leases, to.Nodes)
}
