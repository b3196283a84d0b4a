// Package live tells what a client did between two moments, from its statistics or from the metrics of package
// redisprom. The page of contrib/redisdebug and the live view of internal/lab/quickstart show it.
package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// Sample is the part of the statistics of this or another process that a live view shows. Its
// fields have the names of redisconn.Stats.
type Sample struct {
	Values, Refused, NotSent, Unknown float64
	Writes, WrittenRequests           float64
	InFlight, Queued                  float64
	Queue, Wire, Reading, Callback    Total
	Cache                             Cache
}

// Total is the number of requests that went through a stage, and the seconds they took.
type Total struct {
	Count float64 `json:"count"`
	Sum   float64 `json:"sum"`
}

// Stage returns the Total of a stage.
func (s *Sample) Stage(stage redis.Stage) *Total {
	return [...]*Total{&s.Queue, &s.Wire, &s.Reading, &s.Callback}[stage]
}

// Stages are the stages of a sample.
var Stages = [...]redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading, redis.StageCallback}

// Of returns the sample of redisconn.Stats, rediscluster.Stats or rediscache.Stats.
func Of(stats any) Sample {
	text, err := json.Marshal(stats)
	if err != nil {
		panic(err) // can't happen: the fields are numbers and strings
	}
	s, _ := Parse(text)
	return s
}

// Parse parses the JSON of redisconn.Stats, of rediscluster.Stats (its Total), or of
// rediscache.Stats. It returns false for anything else.
func Parse(text []byte) (s Sample, ok bool) {
	var kind struct {
		Writes, MaxBytes *float64
		Total            json.RawMessage
	}
	if json.Unmarshal(text, &kind) != nil {
		return s, false
	}
	if kind.Total != nil {
		return Parse(kind.Total)
	}
	if kind.MaxBytes != nil {
		return s, json.Unmarshal(text, &s.Cache) == nil
	}
	return s, kind.Writes != nil && json.Unmarshal(text, &s) == nil
}

// ParseMetrics adds up the metrics of package redisprom over all nodes. It returns false
// if there are none.
func ParseMetrics(text string) (s Sample, ok bool) {
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
	for _, stage := range Stages {
		total := s.Stage(stage)
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
