package resp

// Limits are those of package redis, which explains them.
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

// numberMost is how long the line of a double or a big number may be, whatever the limit of header
// lines is: it is a value, as a string is. Servers write doubles of up to 4,933 digits before the
// point. To parse a big number takes the square of its length.
const numberMost = 64 << 10

// depthMost keeps decoding, which calls itself for what is nested, from overflowing the stack:
// that ends the program.
const depthMost = 10_000
