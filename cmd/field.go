package cmd

import "github.com/joomcode/redispipe/redis"

// Field is a name with its value: a field of a hash or of an entry of a stream, a key of MSET,
// a parameter of CONFIG SET. See [F] and [Fields].
type Field struct {
	name  string
	value word
	bad   any // an argument that can't be sent, else nil
}

// F returns a field.
func F[V Value](name string, value V) Field { return Field{name: name, value: valueOf(value)} }

// Fields converts a struct or a map to fields, like [redis.Args]. If that is not possible, the command
// fails with an [redis.ErrArgumentType] that says why, and nothing is sent.
func Fields(of any) []Field {
	args := redis.Args(of)
	fields := make([]Field, 0, (len(args)+1)/2)
	for len(args) > 1 {
		fields = append(fields, Field{name: textArg(args[0]), bad: args[1]})
		args = args[2:]
	}
	if len(args) == 1 {
		fields = append(fields, Field{bad: args[0]})
	}
	return fields
}

func (r *request) fields(fields []Field) {
	for _, f := range fields {
		r.add(textOf(f.name))
		if f.bad != nil {
			r.more = append(r.more, f.bad)
			continue
		}
		r.add(f.value)
	}
}
