package values

import (
	"math"
	"reflect"
	"time"
)

// Unit tells how a time.Time or a time.Duration is written as an integer.
type Unit struct {
	name string
	size time.Duration
	date bool // counts from 1970, for a time.Time
}

var units = []Unit{
	{"s", time.Second, false},
	{"ms", time.Millisecond, false},
	{"us", time.Microsecond, false},
	{"ns", time.Nanosecond, false},
	{"unix", time.Second, true},
	{"unixmilli", time.Millisecond, true},
	{"unixmicro", time.Microsecond, true},
	{"unixnano", time.Nanosecond, true},
}

// These are the units of the types of the same names in package redis.
var (
	Seconds      = &units[0]
	Milliseconds = &units[1]
)

// unitOf returns the unit that a tag's option names for a type, or nil.
func unitOf(option string, t reflect.Type) *Unit {
	t = indirect(t)
	for i := range units {
		u := &units[i]
		if u.name == option && (u.date && t == timeType || !u.date && t == durationType) {
			return u
		}
	}
	return nil
}

// countDate returns how many whole units lie between 1970 and t.
func (u *Unit) countDate(t time.Time) (int64, bool) {
	perSecond := int64(time.Second / u.size)
	sec, rest := t.Unix(), int64(t.Nanosecond())/int64(u.size)
	if sec < 0 && rest > 0 { // so that sec and rest have the same sign
		sec, rest = sec+1, rest-perSecond
	}
	if sec > math.MaxInt64/perSecond || sec < math.MinInt64/perSecond {
		return 0, false
	}
	n := sec*perSecond + rest
	return n, (n < 0) == (sec < 0 || rest < 0)
}

// lastSecond is the greatest argument that time.Unix handles, because it counts from the year 1.
const lastSecond = math.MaxInt64 - 1<<36

// dateOf returns the time n units after 1970, in UTC.
func (u *Unit) dateOf(n int64) (time.Time, bool) {
	perSecond := int64(time.Second / u.size)
	sec, rest := n/perSecond, n%perSecond
	return time.Unix(sec, rest*int64(u.size)).UTC(), sec <= lastSecond
}

// marshaler returns the marshaler of times or durations, or of pointers to them.
func (u *Unit) marshaler() marshaler {
	return func(v reflect.Value) (arg any, absent bool, err error) {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, true, nil
			}
			v = v.Elem()
		}
		if u.date {
			arg, err = u.argDate(v.Interface().(time.Time))
		} else {
			arg, err = u.Arg(time.Duration(v.Int()))
		}
		return arg, false, err
	}
}

// Arg makes an argument of a duration. It returns an error instead of rounding.
func (u *Unit) Arg(d time.Duration) (any, error) {
	if d%u.size != 0 {
		return nil, errArgType("a duration that is not a whole number of its unit, %s, can't be sent", u.name)
	}
	return int64(d / u.size), nil
}

// argDate makes an argument of a time.
func (u *Unit) argDate(t time.Time) (any, error) {
	n, ok := u.countDate(t)
	if !ok {
		return nil, errArgType("a time outside the range of %s can't be sent", u.name)
	}
	return n, nil
}

// Read sets a duration to a number of units.
func (u *Unit) Read(d *time.Duration, res any) error {
	return u.read(reflect.ValueOf(d).Elem(), res)
}

// read sets a time.Time or a time.Duration to a number of units.
func (u *Unit) read(dst reflect.Value, res any) error {
	var n int64
	if err := readScalar(reflect.ValueOf(&n).Elem(), res); err != nil {
		return err
	}
	if u.date {
		t, ok := u.dateOf(n)
		if !ok {
			return errRange(dst.Type())
		}
		dst.Set(reflect.ValueOf(t))
		return nil
	}
	d := time.Duration(n) * u.size
	if d/u.size != time.Duration(n) {
		return errRange(dst.Type())
	}
	dst.SetInt(int64(d))
	return nil
}
