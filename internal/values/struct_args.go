package values

import (
	"reflect"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
)

// structArgs are the fields of a struct that Args takes.
type structArgs []fieldArg

type fieldArg struct {
	field
	name    any // the field's, made an interface once
	marshal marshaler
}

var structArgsByType perType[structArgs]

func structArgsOf(t reflect.Type) (structArgs, error) { return structArgsByType.of(t, newStructArgs) }

func newStructArgs(t reflect.Type) (structArgs, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, errArgType("%v", err)
	}
	s := make(structArgs, len(fields))
	for i, f := range fields {
		s[i] = fieldArg{field: f, name: f.name, marshal: f.unit.marshaler()}
		if f.unit == nil {
			if s[i].marshal, err = marshalerOf(f.typ); err != nil {
				return nil, errs.Within(err, "%s", f.label)
			}
		}
	}
	return s, nil
}

func appendStruct(out []any, v reflect.Value) ([]any, error) {
	s, err := structArgsOf(v.Type())
	if err != nil {
		return out, err
	}
	for i := range s {
		f := &s[i]
		value := v.FieldByIndex(f.index)
		if f.optional && isZero(value) {
			continue
		}
		arg, absent, err := f.marshal(value)
		if err != nil {
			return out, errs.Within(err, "%s", f.label)
		}
		if !absent {
			out = append(out, f.name, arg)
		}
	}
	return out, nil
}

// isZero reports whether omitempty leaves the value out.
func isZero(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() == 0
	}
	if v.Type() == timeType {
		return v.Interface().(time.Time).IsZero()
	}
	return v.IsZero()
}
