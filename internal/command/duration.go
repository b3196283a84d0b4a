package command

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Unit is the unit of an argument that is a duration.
type Unit uint8

const (
	// NoUnit: the argument is not a duration.
	NoUnit Unit = iota
	// Seconds are sent as a whole number.
	Seconds
	// Milliseconds are sent as a whole number.
	Milliseconds
	// DecimalSeconds may have a fraction.
	DecimalSeconds
)

var units = [...]struct {
	name string
	size time.Duration // the length of one unit
}{
	Seconds:        {"seconds", time.Second},
	Milliseconds:   {"milliseconds", time.Millisecond},
	DecimalSeconds: {"seconds", time.Second},
}

// String implements fmt.Stringer.
func (u Unit) String() string { return units[u].name }

// timeArg describes an argument that is a duration.
type timeArg struct {
	option string // the option before the argument; "" if the argument has a fixed position
	at     int8   // the argument's position; negative positions count from the end of the arguments
	unit   Unit
}

// UnitOf returns the unit of argument i.
func (c *Call) UnitOf(i int) Unit {
	if c.Info == nil {
		return NoUnit
	}
	p := 1 + c.shift + i
	for _, t := range c.times {
		if t.option == "" && c.positionOf(t) == p || t.option != "" && c.isOption(p-1, t.option) {
			return t.unit
		}
	}
	return NoUnit
}

// isOption reports whether the word at position p is an option, and not, for example, a key of the
// same name.
func (c *Call) isOption(p int, option string) bool {
	return p > 0 && c.is(p, option) && c.argIndex(p) != c.FirstKey()
}

func (c *Call) positionOf(t timeArg) int {
	if t.at < 0 {
		return c.Words() + int(t.at)
	}
	return int(t.at)
}

// fixedTime returns the position of the duration that has a fixed position, so does not follow an
// option.
func (c *Call) fixedTime() (p int, u Unit, ok bool) {
	for _, t := range c.times {
		if t.option == "" {
			return c.positionOf(t), t.unit, true
		}
	}
	return 0, NoUnit, false
}

// AppendDuration appends the duration d as the number that argument i expects. It returns false if
// that argument is not a duration, or if d is not a whole number of its unit.
func (c *Call) AppendDuration(buf []byte, i int, d time.Duration) ([]byte, bool) {
	switch u := c.UnitOf(i); {
	case u == DecimalSeconds:
		return strconv.AppendFloat(buf, TimeoutSeconds(d), 'f', -1, 64), true
	case u == NoUnit || d%units[u].size != 0:
		return buf, false
	default:
		return strconv.AppendInt(buf, int64(d/units[u].size), 10), true
	}
}

// leastTimeout is the shortest time-out of a blocking command, in milliseconds. Redis 6.2 treats
// one millisecond or less as no time-out and blocks forever.
const leastTimeout = 2

// TimeoutSeconds returns the time-out of a blocking command in seconds. Servers count in whole
// milliseconds, so it rounds up to a millisecond.
func TimeoutSeconds(d time.Duration) float64 {
	if d <= 0 {
		return d.Seconds()
	}
	whole := d / time.Millisecond
	if d%time.Millisecond > 0 {
		whole++
	}
	return float64(max(whole, leastTimeout)) / 1000
}

// WithDurations returns a copy of args in which every duration that can be sent is replaced by its
// number. If there are none, it returns args itself.
func WithDurations(cmd string, args []any) []any {
	if !slices.ContainsFunc(args, func(arg any) bool { _, is := arg.(time.Duration); return is }) {
		return args // at once, because nearly all requests are like this
	}
	c := Of(cmd, args)
	for i, arg := range args {
		d, ok := arg.(time.Duration)
		if !ok {
			continue
		}
		text, ok := c.AppendDuration(nil, i, d)
		if !ok {
			continue
		}
		if &c.args[0] == &args[0] {
			args = slices.Clone(args)
		}
		args[i] = string(text)
	}
	return args
}

// Sendable reports whether argument i can be sent.
func (c *Call) Sendable(i int) bool {
	if d, ok := c.args[i].(time.Duration); ok {
		_, ok := c.AppendDuration(nil, i, d)
		return ok
	}
	return IsArg(c.args[i])
}

// Forever is the BlockTime of a call without a time-out.
const Forever = time.Duration(math.MaxInt64)

// BlockTime returns for how long the call asks the server to block: 0 if it does not block or if
// the server will refuse its time-out, and Forever if it has no time-out, like SAVE.
func (c *Call) BlockTime() time.Duration {
	switch {
	case c.Info == nil || c.Class != Blocks && c.Class != BlocksIfAsked:
		return 0
	case c.Class == BlocksIfAsked:
		if p := c.readOption("BLOCK"); p > 0 {
			return c.timeout(p+1, Milliseconds)
		}
		return 0
	}
	if p, unit, ok := c.fixedTime(); ok {
		return c.timeout(p, unit)
	}
	return Forever
}

// timeout reads the time-out at position p. Zero means that there is none. It keeps no reference to
// the arguments, which would otherwise escape to the heap for every request.
func (c *Call) timeout(p int, unit Unit) time.Duration {
	var n float64
	var err error
	switch v := c.at(p).(type) {
	case string:
		n, err = strconv.ParseFloat(v, 64)
	case []byte:
		n, err = strconv.ParseFloat(string(v), 64)
	case time.Duration:
		n, unit = v.Seconds(), DecimalSeconds
	default:
		var room [32]byte
		text, _ := AppendNumber(room[:0], v) // empty if v is not a number
		n, err = strconv.ParseFloat(string(text), 64)
	}
	switch t := n * float64(units[unit].size); {
	case err != nil || n < 0 || n != n:
		return 0
	case n == 0 || t >= float64(Forever):
		return Forever
	default:
		return max(1, time.Duration(t)) // a time-out that rounds down to zero would mean none
	}
}
