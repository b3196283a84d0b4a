package values

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/joomcode/redispipe/internal/errs"
)

// field is a field of a struct that has a name in Redis.
type field struct {
	name     string
	index    []int // for reflect.Value.FieldByIndex; the path contains no pointer
	typ      reflect.Type
	unit     *Unit // of a time.Time or time.Duration, otherwise nil
	optional bool  // omitempty
	label    string
}

// fieldsOf returns the fields of a struct type in order. In place of an inlined struct it returns
// the struct's fields. Its error names the type, the field and the tag.
func fieldsOf(t reflect.Type) ([]field, error) {
	fields, err := appendFields(nil, t, nil)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]string, len(fields))
	for _, f := range fields {
		if other, dup := byName[f.name]; dup {
			return nil, fmt.Errorf("%s has the name of %s", f.label, other)
		}
		byName[f.name] = f.label
	}
	return fields, nil
}

func appendFields(fields []field, t reflect.Type, index []int) ([]field, error) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		f, inline, err := parseField(t, sf)
		switch {
		case err != nil:
			return nil, err
		case inline:
			if fields, err = appendFields(fields, sf.Type, at); err != nil {
				return nil, err
			}
		case f.name != "":
			f.index = at
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// parseField parses the tag of a field. A field that is not sent or read has no name.
func parseField(t reflect.Type, sf reflect.StructField) (f field, inline bool, err error) {
	tag, tagged := sf.Tag.Lookup("redis")
	f = field{typ: sf.Type, label: fieldLabel(t, sf)}
	refused := func(why string) (field, bool, error) {
		return field{}, false, fmt.Errorf("%s: %s", f.label, why)
	}
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return field{}, false, nil
	case !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct):
		if tagged {
			return refused("the field is not exported")
		}
		return field{}, false, nil
	}
	inline = sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct && !hasText(sf.Type)
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty":
			f.optional = true
		case "inline":
			inline = true
		default:
			if f.unit = unitOf(option, sf.Type); f.unit == nil {
				return refused(fmt.Sprintf("there is no option %q for a field of this type", option))
			}
		}
	}
	switch {
	case inline && (name != "" || f.optional || f.unit != nil):
		return refused("an inlined struct has neither a name nor further options")
	case inline && sf.Type.Kind() != reflect.Struct:
		return refused("only structs can be inlined, no pointers")
	case inline:
		return field{}, true, nil
	case !sf.IsExported():
		return refused("the field is not exported")
	}
	if f.name = name; name == "" {
		f.name = sf.Name
	}
	return f, false, nil
}

// fieldLabel returns how errors name a field.
func fieldLabel(t reflect.Type, sf reflect.StructField) string {
	label := fmt.Sprintf("field %s of %v", sf.Name, t)
	if tag, tagged := sf.Tag.Lookup("redis"); tagged {
		label += fmt.Sprintf(" (tag `redis:%q`)", tag)
	}
	return label
}

// FieldNames is redis.FieldNames.
func FieldNames(t reflect.Type) []any {
	if t.Kind() != reflect.Struct {
		return []any{NewBad(errs.ErrArgumentType.New("%v is not a struct", t))}
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return []any{NewBad(errs.ErrArgumentType.New("%v", err))}
	}
	names := make([]any, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}
