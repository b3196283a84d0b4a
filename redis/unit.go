package redis

import (
	"math"
	"reflect"
	"time"
)

// unit is how a time.Time or a time.Duration is written as a whole number.
type unit struct {
	name string
	size time.Duration
	date bool // counts since 1970, of a time.Time
}

var units = []unit{
	{"s", time.Second, false},
	{"ms", time.Millisecond, false},
	{"us", time.Microsecond, false},
	{"ns", time.Nanosecond, false},
	{"unix", time.Second, true},
	{"unixmilli", time.Millisecond, true},
	{"unixmicro", time.Microsecond, true},
	{"unixnano", time.Nanosecond, true},
}

var seconds, milliseconds = &units[0], &units[1]

// unitOf returns the unit that a tag's option names for a type, or nil.
func unitOf(option string, t reflect.Type) *unit {
	t = indirect(t)
	for i := range units {
		u := &units[i]
		if u.name == option && (u.date && t == timeType || !u.date && t == durationType) {
			return u
		}
	}
	return nil
}

// count returns how many whole units d is, and false for what is less than one
// but not nothing: as 0 it would mean something else.
func (u *unit) count(d time.Duration) (int64, bool) {
	n := int64(d / u.size)
	return n, n != 0 || d == 0
}

// duration is n units, unless that is too long for a time.Duration.
func (u *unit) duration(n int64) (time.Duration, bool) {
	d := time.Duration(n) * u.size
	return d, d/u.size == time.Duration(n)
}

// countDate returns how many whole units lie between 1970 and t.
func (u *unit) countDate(t time.Time) (int64, bool) {
	perSecond := int64(time.Second / u.size)
	sec, rest := t.Unix(), int64(t.Nanosecond())/int64(u.size)
	if sec < 0 && rest > 0 { // so that both have the same sign
		sec, rest = sec+1, rest-perSecond
	}
	if sec > math.MaxInt64/perSecond || sec < math.MinInt64/perSecond {
		return 0, false
	}
	n := sec*perSecond + rest
	return n, (n < 0) == (sec < 0 || rest < 0)
}

// lastSecond is the greatest that time.Unix takes: it counts from the year 1.
const lastSecond = math.MaxInt64 - 1<<36

// date is the time n units after 1970, in UTC.
func (u *unit) dateOf(n int64) (time.Time, bool) {
	perSecond := int64(time.Second / u.size)
	sec, rest := n/perSecond, n%perSecond
	return time.Unix(sec, rest*int64(u.size)).UTC(), sec <= lastSecond
}
