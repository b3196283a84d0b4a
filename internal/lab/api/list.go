package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// lister lists the names of one package. The lines contain everything whose change could break a
// program: the value of a constant, the type of a field, whether a method has a pointer receiver,
// and all methods of an interface, because one more method breaks the types that implement it. They
// do not contain the names of parameters.
type lister struct {
	pkg   *types.Package
	lines []string
}

func (l *lister) add(format string, args ...any) {
	line := fmt.Sprintf("pkg %s, ", l.pkg.Name()) + fmt.Sprintf(format, args...)
	l.lines = append(l.lines, strings.ReplaceAll(line, "interface{}", "any"))
}

func (l *lister) sorted() []string {
	slices.Sort(l.lines)
	return slices.Compact(l.lines)
}

func (l *lister) object(obj types.Object) {
	switch o := obj.(type) {
	case *types.Const:
		l.add("const %s %s = %s", o.Name(), text(o.Type()), o.Val().ExactString())
	case *types.Var:
		l.add("var %s %s", o.Name(), text(o.Type()))
	case *types.Func:
		l.add("func %s%s", o.Name(), signature(o.Signature()))
	case *types.TypeName:
		named, ok := types.Unalias(o.Type()).(*types.Named)
		if o.IsAlias() && !(ok && inner(named.Obj().Pkg())) {
			l.add("type %s = %s", o.Name(), text(types.Unalias(o.Type())))
			return
		}
		l.named(o.Name(), named)
	}
}

// inner reports whether programs can't import a package. Its types are listed under the names of
// their public aliases.
func inner(pkg *types.Package) bool { return pkg != nil && strings.Contains(pkg.Path(), "/internal/") }

// named lists a type, its fields and its methods.
func (l *lister) named(name string, t *types.Named) {
	name += typeParams(t.TypeParams())
	switch u := t.Underlying().(type) {
	case *types.Struct:
		l.add("type %s struct", name)
		for field := range u.Fields() {
			switch {
			case field.Embedded() && field.Exported():
				l.add("type %s struct, embedded %s", name, text(field.Type()))
			case field.Exported():
				l.add("type %s struct, %s %s", name, field.Name(), l.ofField(field.Type()))
			}
		}
	case *types.Interface:
		l.iface(name, u)
		return
	default:
		l.add("type %s %s", name, text(u))
	}
	values := types.NewMethodSet(t)
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		f := method.Obj().(*types.Func)
		if !f.Exported() {
			continue
		}
		receiver := "*" + name
		if values.Lookup(f.Pkg(), f.Name()) != nil {
			receiver = name
		}
		l.add("method (%s) %s%s", receiver, f.Name(), signature(f.Signature()))
	}
}

// ofField writes the type of a field. It also handles fields of structs from packages that programs
// can't import, whose types may be from such packages, too.
func (l *lister) ofField(t types.Type) string {
	if named, ok := t.(*types.Named); ok && inner(named.Obj().Pkg()) {
		if alias := l.pkg.Scope().Lookup(named.Obj().Name()); alias != nil && types.Identical(alias.Type(), t) {
			return text(alias.Type())
		}
	}
	return text(t)
}

// iface lists an interface. A constraint is one line. An interface with unexported methods may get
// more methods, because other packages can't implement it.
func (l *lister) iface(name string, u *types.Interface) {
	if !u.IsMethodSet() {
		l.add("type %s %s", name, text(u))
		return
	}
	var names []string
	closed := false
	for method := range u.Methods() {
		if !method.Exported() {
			closed = true
			continue
		}
		names = append(names, method.Name())
		l.add("type %s interface, %s%s", name, method.Name(), signature(method.Signature()))
	}
	if closed {
		l.add("type %s interface, unexported methods", name)
		return
	}
	l.add("type %s interface { %s }", name, strings.Join(names, ", "))
}

// text writes a type with the names of packages.
func text(t types.Type) string {
	if s, ok := t.(*types.Signature); ok {
		return "func" + signature(s)
	}
	return types.TypeString(t, (*types.Package).Name)
}

// signature writes the parameters and results of a function.
func signature(s *types.Signature) string {
	in := typeParams(s.TypeParams()) + "(" + tuple(s.Params(), s.Variadic()) + ")"
	switch s.Results().Len() {
	case 0:
		return in
	case 1:
		return in + " " + tuple(s.Results(), false)
	}
	return in + " (" + tuple(s.Results(), false) + ")"
}

func tuple(t *types.Tuple, variadic bool) string {
	var parts []string
	for v := range t.Variables() {
		parts = append(parts, text(v.Type()))
	}
	if variadic {
		last := &parts[len(parts)-1]
		*last = "..." + strings.TrimPrefix(*last, "[]")
	}
	return strings.Join(parts, ", ")
}

func typeParams(list *types.TypeParamList) string {
	var parts []string
	for p := range list.TypeParams() {
		parts = append(parts, p.Obj().Name()+" "+text(p.Constraint()))
	}
	if parts == nil {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
