package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// sample is the part of the statistics of this or another process that the live view shows. Its
// fields have the names of redisconn.Stats.
type sample struct {
	Values, Refused, NotSent, Unknown float64
	Writes, WrittenRequests           float64
	InFlight, Queued                  float64
	Queue, Wire, Reading, Callback    stageTotal
	Cache                             cacheSample
}

// stageTotal is the number of requests that went through a stage, and the seconds they took.
type stageTotal struct {
	Count float64 `json:"count"`
	Sum   float64 `json:"sum"`
}

func (s *sample) stage(stage redis.Stage) *stageTotal {
	return [...]*stageTotal{&s.Queue, &s.Wire, &s.Reading, &s.Callback}[stage]
}

var stages = [...]redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading, redis.StageCallback}

// sampleOf returns the sample of redisconn.Stats, rediscluster.Stats or rediscache.Stats.
func sampleOf(stats any) sample {
	text, err := json.Marshal(stats)
	if err != nil {
		panic(err) // they are numbers and strings
	}
	s, _ := parseStats(text)
	return s
}

// parseStats parses the JSON of redisconn.Stats, of rediscluster.Stats (its Total), or of
// rediscache.Stats. It returns false for anything else.
func parseStats(text []byte) (s sample, ok bool) {
	var kind struct {
		Writes, MaxBytes *float64
		Total            json.RawMessage
	}
	if json.Unmarshal(text, &kind) != nil {
		return s, false
	}
	if kind.Total != nil {
		return parseStats(kind.Total)
	}
	if kind.MaxBytes != nil {
		return s, json.Unmarshal(text, &s.Cache) == nil
	}
	return s, kind.Writes != nil && json.Unmarshal(text, &s) == nil
}

// parseMetrics adds up the metrics of package redisprom over all nodes. It returns false
// if there are none.
func parseMetrics(text string) (s sample, ok bool) {
	sums := map[string]*float64{
		`redispipe_requests_total outcome="value"`:    &s.Values,
		`redispipe_requests_total outcome="refused"`:  &s.Refused,
		`redispipe_requests_total outcome="not_sent"`: &s.NotSent,
		`redispipe_requests_total outcome="unknown"`:  &s.Unknown,
		`redispipe_writes_total`:                      &s.Writes,
		`redispipe_written_requests_total`:            &s.WrittenRequests,
		`redispipe_in_flight_requests`:                &s.InFlight,
		`redispipe_queued_requests`:                   &s.Queued,
	}
	maps.Copy(sums, s.Cache.series())
	for _, stage := range stages {
		total := s.stage(stage)
		sums[fmt.Sprintf("redispipe_stage_duration_seconds_count stage=%q", stage)] = &total.Count
		sums[fmt.Sprintf("redispipe_stage_duration_seconds_sum stage=%q", stage)] = &total.Sum
	}
	for line := range strings.Lines(text) {
		series, number, labelled := strings.Cut(strings.TrimSpace(line), "} ")
		if !labelled {
			series, number, _ = strings.Cut(series, " ")
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(series, "{")
		keys := []string{name}
		for label := range strings.SplitSeq(labels, ",") {
			keys = append(keys, name+" "+label)
		}
		for _, key := range keys {
			if sum := sums[key]; sum != nil {
				*sum += value
				ok = true
			}
		}
	}
	return s, ok
}

// live describes what happened between two samples, in lines of which all but the first are indented.
func live(from, to sample, elapsed time.Duration) string {
	cached := ""
	if to.Cache.MaxBytes > 0 {
		if cached = liveCache(from.Cache, to.Cache, elapsed); to.Writes == 0 {
			return cached
		}
		cached = ";\n    " + cached
	}
	if to.Writes < from.Writes {
		from = sample{} // of a process that has ended
	}
	requests := to.Values + to.Refused + to.NotSent + to.Unknown - from.Values - from.Refused - from.NotSent - from.Unknown
	failed := to.NotSent + to.Unknown - from.NotSent - from.Unknown
	var line strings.Builder
	fmt.Fprintf(&line, "%s requests/s, %s failed, %.1f/write, %.0f in flight, %.0f queued;\n    mean",
		thousands(int64(requests/elapsed.Seconds())), thousands(int64(failed)), perWrite(from, to), to.InFlight, to.Queued)
	for _, stage := range stages {
		before, after := from.stage(stage), to.stage(stage)
		mean := (after.Sum - before.Sum) / max(after.Count-before.Count, 1)
		fmt.Fprintf(&line, " %s %s", stage, round(time.Duration(mean*float64(time.Second))))
	}
	return line.String() + cached
}

// perWrite returns the number of requests per write between two samples.
func perWrite(from, to sample) float64 {
	return (to.WrittenRequests - from.WrittenRequests) / max(to.Writes-from.Writes, 1)
}
