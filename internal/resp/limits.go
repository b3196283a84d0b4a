package resp

// Limits is redis.Limits, which has the documentation.
type Limits struct {
	Line     int
	Bulk     int
	Elements int
	Depth    int
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, def int) {
		if *field <= 0 {
			*field = def
		}
	}
	set(&l.Line, 64<<10)
	set(&l.Bulk, 512<<20)
	set(&l.Elements, 1<<27)
	set(&l.Depth, 128)
	l.Depth = min(l.Depth, depthMost)
	return l
}

// numberMost bounds the line of a double or a big number. The limit of header lines does not apply,
// because such a line is a value. Servers write doubles with thousands of digits. Parsing a big
// number takes time that grows with the square of its length.
const numberMost = 64 << 10

// depthMost bounds the recursion of decoding: a stack overflow would end the program.
const depthMost = 10_000
