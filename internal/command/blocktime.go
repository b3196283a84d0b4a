package command

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Forever is the BlockTime of a call that sets no bound.
const Forever = time.Duration(math.MaxInt64)

// BlockTime returns for how long the call asks the server to keep its connection
// waiting: 0 if it does not block, or has a time-out that the server will refuse,
// and Forever if it has none, as SAVE.
func (c *Call) BlockTime() time.Duration {
	switch {
	case c.Info == nil || c.Class != Blocks && c.Class != BlocksIfAsked:
		return 0
	case c.Class == BlocksIfAsked:
		if p := c.blockOption(); p > 0 {
			return c.timeout(p+1, Milliseconds)
		}
		return 0
	}
	if p, unit, ok := c.fixedTime(); ok {
		return c.timeout(p, unit)
	}
	return Forever
}

// timeout reads the time-out at a position. Zero stands for none.
func (c *Call) timeout(p int, unit Unit) time.Duration {
	if p <= c.shift || p >= c.Words() {
		return 0
	}
	arg := c.args[c.argIndex(p)]
	switch v := arg.(type) {
	case []byte:
		arg = string(v)
	case time.Duration:
		arg = v.Seconds()
		unit = DecimalSeconds
	}
	n, err := strconv.ParseFloat(fmt.Sprint(arg), 64)
	switch t := n * float64(unit.size()); {
	case err != nil || n < 0 || n != n:
		return 0
	case n == 0 || t >= float64(Forever):
		return Forever
	default:
		return max(1, time.Duration(t)) // none is so short that it is none
	}
}
