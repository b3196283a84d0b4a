package cmd

// inline is for how many words a request has room. SET with an expiration and a condition has
// five.
const inline = 5

// request is a command with its arguments.
type request struct {
	name  string
	n     int // words
	words [inline]word
	more  []any // behind them
}

// add adds a word. It is not inlined, for the size of programs: an option has several.
//
//go:noinline
func (r *request) add(w word) {
	if r.n < inline && r.more == nil {
		r.words[r.n] = w
		r.n++
		return
	}
	r.more = append(r.more, w.arg())
}

func (r *request) token(token string) { r.add(textOf(token)) }

// args returns the arguments as package redis takes them. It is not inlined, as add is not.
//
//go:noinline
func (r *request) args() []any {
	args := make([]any, 0, r.n+len(r.more))
	for i := range r.words[:r.n] {
		args = append(args, r.words[i].arg())
	}
	return append(args, r.more...)
}
