package values

import (
	"fmt"
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
)

type fieldPlan struct {
	field
	plan *plan
}

func (made planner) fillStruct(p *plan, t reflect.Type) error {
	fields, err := fieldsOf(t)
	if err != nil {
		return err
	}
	p.named, p.partial = true, true // set before the plans of the fields are made, because a field may be a pointer to a t
	p.byName = make(map[string]int, len(fields))
	for i, f := range fields {
		fp := fieldPlan{field: f}
		if f.unit != nil {
			fp.plan = unitPlan(f.unit, f.typ)
		} else if fp.plan, err = made.plan(f.typ); err != nil {
			return fmt.Errorf("%s: %w", f.label, err)
		}
		p.fields = append(p.fields, fp)
		p.byName[f.name] = i
	}
	return nil
}

// unitPlan returns the plan of a time or duration with a unit.
func unitPlan(u *Unit, t reflect.Type) *plan {
	if t.Kind() != reflect.Pointer {
		return &plan{read: u.read}
	}
	p := &plan{elem: unitPlan(u, t.Elem())}
	p.read = p.readPointer
	return p
}

// fewFields is the number of fields that can be tracked without allocating.
const fewFields = 64

// readStruct sets the fields for which the result has a value. It returns an error if a required
// field has none.
func (p *plan) readStruct(dst reflect.Value, res any) error {
	t := dst.Type()
	switch n, ok := countPairs(res); {
	case res == nil, ok && n == 0:
		return errNull(t)
	case !ok:
		return mismatch(t, res)
	}
	var room [fewFields]bool
	seen := room[:]
	if len(p.fields) > len(room) {
		seen = make([]bool, len(p.fields))
	}
	known := len(p.fields) == 0
	err := eachPair(res, func(name, value any) error {
		i, ok := p.find(name)
		if !ok {
			return nil
		}
		known, seen[i] = true, true
		return p.fields[i].read(dst, value)
	})
	if err != nil {
		return err
	}
	if !known {
		return errs.ErrResponseUnexpected.New("%s has no field of %v", shown(res), t).
			WithProperty(errs.EKResponse, res)
	}
	for i := range p.fields {
		if f := &p.fields[i]; !seen[i] && !f.mayMiss() {
			return errs.Within(errNull(f.typ), "%s is missing", f.label)
		}
	}
	return nil
}

func (p *plan) find(name any) (i int, ok bool) {
	switch name := name.(type) {
	case []byte:
		i, ok = p.byName[string(name)]
	case string:
		i, ok = p.byName[name]
	}
	return i, ok
}

// mayMiss reports whether the field may be absent, or null.
func (f *fieldPlan) mayMiss() bool {
	switch f.typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return f.optional
}

func (f *fieldPlan) read(s reflect.Value, value any) error {
	if value == nil && f.mayMiss() {
		return nil
	}
	if err := f.plan.read(s.FieldByIndex(f.index), value); err != nil {
		return errs.Within(err, "%s", f.label)
	}
	return nil
}
