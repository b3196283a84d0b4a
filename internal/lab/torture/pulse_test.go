package torture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPulseLeavesOutWhatTheProcessWasStoppedFor(t *testing.T) {
	start, p := time.Now(), pulse{}
	for i := range 100 {
		p.beats = append(p.beats, start.Add(time.Duration(i)*beat))
	}
	resumed := start.Add(time.Hour)
	for i := range 5 {
		p.beats = append(p.beats, resumed.Add(time.Duration(i)*beat))
	}
	assert.Equal(t, p.beats[90], p.before(p.beats[100], 9*beat))
	assert.Equal(t, p.beats[92], p.before(p.beats[102].Add(beat/2), 10*beat), "the hour does not count")
	assert.Zero(t, p.before(start.Add(beat), 10*beat))
}
