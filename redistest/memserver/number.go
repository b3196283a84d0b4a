package memserver

import (
	"math"
	"strconv"
)

// isOddNumber reports whether a text is a number that servers would write differently.
func isOddNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) != text
}

// overflows reports whether the sum of two int64 does not fit into an int64.
func overflows(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	return err == nil && err2 == nil && (y > 0 && x > math.MaxInt64-y || y < 0 && x < math.MinInt64-y)
}

// isInfinite reports whether a text is a float that is infinite or not a number.
func isInfinite(text string) bool {
	x, err := strconv.ParseFloat(text, 64)
	return err == nil && (math.IsInf(x, 0) || math.IsNaN(x))
}

// makesNaN reports whether the sum of the increment and the member's score is not a number.
func (c *call) makesNaN(key, increment, member string) bool {
	score, _ := c.ask("ZSCORE", key, member)
	text, _ := score.(string)
	old, err := strconv.ParseFloat(text, 64)
	more, err2 := strconv.ParseFloat(increment, 64)
	return err == nil && err2 == nil && math.IsNaN(old+more)
}
