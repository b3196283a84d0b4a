package main

import (
	"context"
	"errors"
	"testing"
)

// scripted is a client that gives the configured answers.
type scripted struct {
	client
	results []any
}

func (s *scripted) do(context.Context, ...any) (any, error) {
	res := s.results[0]
	s.results = s.results[1:]
	if of, failed := res.(outcome); failed {
		return of, errors.New("failed")
	}
	return res, nil
}

func (s *scripted) outcome(err error) outcome {
	if err != nil {
		return unknown
	}
	return value
}

// A counter notices increments that were lost or ran twice, and replies to other requests.
func TestCounter(t *testing.T) {
	for name, c := range map[string]struct {
		results []any
		end     string
		right   bool
	}{
		"in order":            {[]any{int64(1), int64(2)}, "2", true},
		"unknown, ran":        {[]any{int64(1), unknown, int64(3)}, "3", true},
		"unknown, not ran":    {[]any{int64(1), unknown, int64(2)}, "2", true},
		"unknown at the end":  {[]any{int64(1), unknown, unknown}, "2", true},
		"lost":                {[]any{int64(1), int64(2)}, "1", false},
		"twice":               {[]any{int64(1), int64(2)}, "3", false},
		"twice after unknown": {[]any{unknown, int64(3)}, "3", false},
		"of another":          {[]any{int64(1), int64(7)}, "7", false},
		"not a number":        {[]any{int64(1), "OK"}, "2", false},
		"gone":                {[]any{int64(1)}, "", false},
	} {
		s := &scripted{results: c.results}
		n := &counter{}
		for range c.results {
			_ = n.add(context.Background(), s)
		}
		s.results = []any{c.end}
		n.judge(context.Background(), s)
		if (n.wrong == "") != c.right {
			t.Errorf("%s: %q", name, n.wrong)
		}
	}
}
