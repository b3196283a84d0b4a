package torture

import (
	"slices"
	"strconv"

	"github.com/joomcode/redispipe/redispubsub"
)

// heard is what a subscription received on a channel.
type heard struct {
	numbers []int // numbers that arrived in order, without doubtful ones
	places  []int // for each of numbers, its place among all events
	came    map[int]bool
	behind  int // how many arrived after later numbers that another node had accepted
	gaps    []placedGap
	told    map[redispubsub.Reason]int // number of gaps, by reason
}

// placedGap is a gap with an end. A gap that is still open does not tell which messages are
// missing.
type placedGap struct {
	redispubsub.Gap
	place int // the gap's place among all events
}

// hear collects the events of the channel. It returns an error if a number arrives twice or out of
// order (unless servers may pass it on late), or if a gap stays open.
func (p *publisher) hear(events []redispubsub.Event) (*heard, error) {
	h := &heard{told: map[redispubsub.Reason]int{}, came: map[int]bool{}}
	open := map[redispubsub.Reason]bool{}
	for place, ev := range events {
		switch ev := ev.(type) {
		case redispubsub.Gap:
			if !p.in(ev) {
				continue
			}
			h.told[ev.Reason]++
			if open[ev.Reason] = ev.Open(); !ev.Open() {
				h.gaps = append(h.gaps, placedGap{ev, place})
			}
		case redispubsub.Message:
			if ev.Channel != p.channel {
				continue
			}
			n, err := strconv.Atoi(string(ev.Payload))
			switch {
			case err != nil || n >= len(p.numbers):
				return h, p.violated("%q was never published", ev.Payload)
			case h.came[n]:
				return h, p.violated("%d came twice, published at %v", n, p.numbers[n].began)
			}
			h.came[n] = true
			if p.numbers[n].doubtful {
				continue
			}
			if last := h.last(); n < last {
				if !p.numbers[n].overtakenBy(p.numbers[last]) {
					return h, p.violated("%d came after %d%s", n, last, p.neighbours(h, n))
				}
				h.behind++
				continue
			}
			h.numbers, h.places = append(h.numbers, n), append(h.places, place)
		}
	}
	for reason, isOpen := range open {
		if isOpen {
			return h, p.violated("the gap for %v stays open", reason)
		}
	}
	return h, nil
}

// last returns the last number that arrived, or -1.
func (h *heard) last() int {
	if len(h.numbers) == 0 {
		return -1
	}
	return h.numbers[len(h.numbers)-1]
}

// around reports whether a number arrived. If not, it returns the gaps that may cover it: those
// between the numbers before and after it, and later gaps that were reported late.
func (h *heard) around(n int) (came bool, gaps, late []redispubsub.Gap) {
	if h.came[n] {
		return true, nil, nil
	}
	next, _ := slices.BinarySearch(h.numbers, n)
	for _, g := range h.gaps {
		switch {
		case next > 0 && g.place < h.places[next-1]:
		case next < len(h.places) && g.place > h.places[next]:
			late = append(late, g.Gap)
		default:
			gaps = append(gaps, g.Gap)
		}
	}
	return false, gaps, late
}
