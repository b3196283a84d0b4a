package main

import "slices"

// adjusted replaces each optional block that has optional parts by a choice. Each alternative of the
// choice is one way to write the block.
func adjusted(args []*arg) []*arg {
	out := slices.Clone(args)
	for i, a := range out {
		switch {
		case a.kind != "block" || a.multiple():
		case len(a.args) == 2 && a.args[0].token == "COUNT" && a.args[1].token == "ANY":
			out[i] = countChoice(a)
		case len(a.args) > 2 && a.args[0].name == "strategy":
			trim := trimChoice(a)
			out[i] = trim
			if last := a.args[len(a.args)-1]; last.name == "condition" {
				out = append(out, last)
			}
		}
	}
	return out
}

// countChoice returns the choice for the block [COUNT n [ANY]].
func countChoice(a *arg) *arg {
	count, anyOf := a.args[0], *a.args[1]
	anyOf.flags = nil
	with := &arg{name: "as:COUNTANY", kind: "block", args: []*arg{count, &anyOf}}
	return &arg{name: "count", kind: "oneof", flags: a.flags, args: []*arg{count, with}}
}

// trimChoice returns the choice for the block MAXLEN | MINID [= | ~] threshold [LIMIT count].
func trimChoice(a *arg) *arg {
	choice := &arg{name: "trim", kind: "oneof", flags: a.flags}
	about := &arg{name: "about", kind: "pure-token", token: "~", hasToken: true}
	limit := &arg{name: "limit", kind: "integer", token: "LIMIT", hasToken: true}
	for _, strategy := range a.args[0].args {
		threshold := &arg{name: "threshold", kind: "integer"}
		if strategy.token == "MINID" {
			threshold = &arg{name: "id", kind: "string"}
		}
		token := &arg{name: strategy.name, kind: "pure-token", token: strategy.token, hasToken: true}
		add := func(name string, args ...*arg) {
			choice.args = append(choice.args, &arg{name: name, kind: "block", args: append([]*arg{token}, args...)})
		}
		add(strategy.name, threshold)
		add("as:"+strategy.token+"ABOUT", about, threshold)
		add("as:"+strategy.token+"LIMIT", about, threshold, limit)
	}
	return choice
}
