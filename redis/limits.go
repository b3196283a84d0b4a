package redis

// Limits bound what a [Decoder] accepts. A length over its bound is an error before
// anything is allocated for it. A zero field means its default.
type Limits struct {
	// Line is the maximum length of a header line in bytes, including CRLF. Default 64
	// KiB.
	Line int
	// Bulk is the maximum length of a string in bytes. Default 512 MiB, which is Redis'
	// own bound (proto-max-bulk-len).
	Bulk int
	// Elements is the maximum number of elements of one array, set, push or map (keys
	// plus values). Default 2^27.
	Elements int
	// Depth is how deep aggregates may be nested. Default 128. Deep replies come only
	// from Lua scripts, which can't pass 200 C calls.
	Depth int
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
	return l
}
