package rediscluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/lifetime"
)

func TestStartEndsWithTheContext(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	start, stop := startContext(ctx)
	defer stop()
	until, _ := start.Deadline()
	assert.Equal(t, deadline, until, "as long as the caller has")

	bounded, stop := startContext(context.Background())
	defer stop()
	until, _ = bounded.Deadline()
	assert.WithinDuration(t, time.Now().Add(startTimeout), until, time.Second)
}

func TestGather(t *testing.T) {
	const atMost = time.Hour
	type answer struct {
		after time.Duration
		good  bool
	}
	for name, tt := range map[string]struct {
		answers     []answer
		wake, close time.Duration
		heard       int
		took        time.Duration
	}{
		"all answer":              {answers: []answer{{time.Second, false}, {2 * time.Second, false}}, heard: 2, took: 2 * time.Second},
		"one is late":             {answers: []answer{{time.Second, true}, {2 * time.Second, true}}, heard: 1, took: time.Second + askGrace},
		"the grace begins once":   {answers: []answer{{0, true}, {askGrace / 2, true}, {askGrace + askGrace/4, true}}, heard: 2, took: askGrace},
		"a bad one has no grace":  {answers: []answer{{0, false}, {time.Second, true}}, heard: 2, took: time.Second},
		"nobody answers":          {answers: []answer{{2 * atMost, true}}, took: atMost},
		"nobody is asked":         {},
		"it is woken":             {answers: []answer{{2 * atMost, true}}, wake: time.Second, took: time.Second},
		"its context ends":        {answers: []answer{{2 * atMost, true}}, close: time.Second, took: time.Second},
		"the others are not good": {answers: []answer{{0, true}, {askGrace / 2, false}}, heard: 2, took: askGrace / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				answers, wake, heard := make(chan func() bool, len(tt.answers)), make(chan struct{}, 1), 0
				for _, a := range tt.answers {
					time.AfterFunc(a.after, func() {
						answers <- func() bool {
							heard++
							return a.good
						}
					})
				}
				if tt.wake > 0 {
					time.AfterFunc(tt.wake, func() { lifetime.Wake(wake) })
				}
				if tt.close > 0 {
					time.AfterFunc(tt.close, cancel)
				}
				began := time.Now()
				gather(ctx, answers, len(tt.answers), atMost, wake)
				assert.Equal(t, tt.took, time.Since(began)) // by the clock of the bubble
				assert.Equal(t, tt.heard, heard)
				cancel()
			})
		})
	}
}
