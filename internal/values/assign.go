package values

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// As is redis.As, except that its errors are not wrapped for errors.Is.
func As[T any](res any) (T, error) {
	var v T
	if err := Assign(&v, res); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// Assign sets the variable that dst points to. After an error the variable may be partly set, if
// its plan is partial.
func Assign(dst, res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	p, err := planOf(v.Type())
	if err != nil {
		return errs.ErrResponseUnexpected.New("%v", err).WithProperty(errs.EKResponse, res)
	}
	return answered(p.read(v, res), res)
}

// answered is for the error of reading a part of a result. It adds the whole result, so that the
// error says that the request was answered.
func answered(err error, res any) error {
	if err == nil || res == nil {
		return err
	}
	typed := errs.AsErrorx(err)
	if _, named := typed.Property(errs.EKResponse); named || !typed.IsOfType(errs.ErrResponseUnexpected) {
		return err
	}
	return typed.WithProperty(errs.EKResponse, res)
}

// Variable is a variable that a result is read into.
type Variable struct {
	Kind resp.Kind // NoKind if the type is not one of a [resp.Scalar]
	dst  any       // a pointer to the variable
	plan *plan     // nil if Kind is set: most replies need no plan
}

// VariableOf returns the variable that dst points to. It returns an ErrArgumentType if no result
// can be read into a variable of that type.
func VariableOf(dst any) (Variable, error) {
	v := Variable{Kind: resp.KindOf(dst), dst: dst}
	p := reflect.ValueOf(dst)
	switch {
	case p.Kind() != reflect.Pointer:
		return v, errArgType("a reply can't be read into %T: a pointer to a variable is needed", dst)
	case p.IsNil():
		return v, errArgType("a reply can't be read into a nil %T: a pointer to a variable is needed", dst)
	case v.Kind != resp.NoKind:
		return v, nil
	}
	var err error
	if v.plan, err = planOf(p.Type().Elem()); err != nil {
		return v, errArgType("%v", err)
	}
	return v, nil
}

// Named reports whether the variable holds names with values, like a struct or a map.
func (v Variable) Named() bool { return v.plan != nil && v.plan.named }

// Read sets the variable to a result. After an error the variable is unchanged.
func (v Variable) Read(res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	to := reflect.ValueOf(v.dst).Elem()
	if v.plan == nil {
		v.plan, _ = planOf(to.Type())
	}
	fresh := to
	if v.plan.partial {
		fresh = reflect.New(to.Type()).Elem()
	}
	if err := v.plan.read(fresh, res); err != nil {
		return answered(err, res)
	}
	if v.plan.partial {
		to.Set(fresh)
	}
	return nil
}
