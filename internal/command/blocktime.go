package command

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Forever is the BlockTime of a call that sets no bound.
const Forever = time.Duration(math.MaxInt64)

// timeouts tells of blocking commands where their time-out is, counted from the
// end if negative, and in which unit.
var timeouts = map[string]struct {
	position int
	unit     time.Duration
}{
	"BLPOP": {-1, time.Second}, "BRPOP": {-1, time.Second}, "BRPOPLPUSH": {-1, time.Second}, "BLMOVE": {-1, time.Second},
	"BZPOPMIN": {-1, time.Second}, "BZPOPMAX": {-1, time.Second},
	"BLMPOP": {1, time.Second}, "BZMPOP": {1, time.Second},
	"WAIT": {2, time.Millisecond}, "WAITAOF": {3, time.Millisecond},
}

// BlockTime returns for how long the call asks the server to keep its connection
// waiting: 0 if it does not block, or has a time-out that the server will refuse,
// and Forever if it has none, as SAVE.
func (c *Call) BlockTime() time.Duration {
	switch {
	case c.Info == nil || c.Class != Blocks && c.Class != BlocksIfAsked:
		return 0
	case c.Class == BlocksIfAsked:
		if p := c.blockOption(); p > 0 {
			return c.timeout(p+1, time.Millisecond)
		}
		return 0
	}
	t, ok := timeouts[c.Name]
	if !ok {
		return Forever
	}
	if t.position < 0 {
		t.position += c.Words()
	}
	return c.timeout(t.position, t.unit)
}

// timeout reads the time-out at a position. Zero stands for none.
func (c *Call) timeout(p int, unit time.Duration) time.Duration {
	if p <= c.shift || p >= c.Words() {
		return 0
	}
	arg := c.args[c.argIndex(p)]
	if b, ok := arg.([]byte); ok {
		arg = string(b)
	}
	n, err := strconv.ParseFloat(fmt.Sprint(arg), 64)
	switch t := n * float64(unit); {
	case err != nil || n < 0 || n != n:
		return 0
	case n == 0 || t >= float64(Forever):
		return Forever
	default:
		return max(1, time.Duration(t)) // none is so short that it is none
	}
}
