package values

import (
	"bytes"
	"reflect"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/command"
)

// CloneArgs copies arguments that can be sent. The copies outlive the call; the originals may stay
// on their caller's stack.
func CloneArgs(args []any) []any {
	if len(args) == 0 {
		return nil
	}
	clones := make([]any, len(args))
	for i, arg := range args {
		clones[i] = cloneArg(arg)
	}
	return clones
}

// cloneArg copies each value by its type, so that escape analysis keeps arguments on their caller's
// stack.
func cloneArg(arg any) any {
	switch v := arg.(type) {
	case string:
		return strings.Clone(v)
	case []byte:
		return bytes.Clone(v)
	case time.Duration:
		return v
	}
	if arg == nil || !command.IsArg(arg) {
		return nil
	}
	v := reflect.ValueOf(arg)
	clone := reflect.New(v.Type()).Elem()
	switch {
	case v.CanInt():
		clone.SetInt(v.Int())
	case v.CanUint():
		clone.SetUint(v.Uint())
	case v.CanFloat():
		clone.SetFloat(v.Float())
	default:
		clone.SetBool(v.Bool())
	}
	return clone.Interface()
}

// Bad takes the place of an argument that could not be made. A request that contains it is refused.
type Bad struct {
	// Why has one error. It is a slice so that escape analysis sees that an error made from it
	// holds no other argument: so other arguments stay on their caller's stack.
	Why []error
}

var badType = reflect.TypeFor[Bad]()

// NewBad returns a Bad.
func NewBad(why error) Bad { return Bad{[]error{why}} }
