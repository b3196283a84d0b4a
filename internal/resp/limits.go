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

// depthMost keeps decoding, which calls itself for what is nested, from overflowing the stack:
// that ends the program.
const depthMost = 10_000
