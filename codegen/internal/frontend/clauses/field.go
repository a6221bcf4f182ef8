package clauses

import (
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// fieldPath splits p into a name with its field selectors, such as m.Grid.Data, and the rest. name
// has one piece for each identifier, and is empty if p does not begin with one.
func fieldPath(p syntax.Piece) (name []syntax.Piece, rest syntax.Piece) {
	word, rest := syntax.NextWord(p)
	if word.Text == "" {
		return nil, rest
	}
	name = []syntax.Piece{word}
	for strings.HasPrefix(rest.Text, ".") {
		field, after := syntax.NextWord(rest.From(1).Trim())
		if field.Text == "" {
			break
		}
		name, rest = append(name, field), after
	}
	return name, rest
}

// A clauseFault is an error in a part of a clause.
type clauseFault struct {
	at           syntax.Piece
	why, instead string
}

// parameterPart returns the parameter that name denotes, or the leaf of a split parameter. If name
// denotes neither, parameterPart reports an error and returns nil. For a field inside a struct that
// is passed by value, it returns a new variable with the name and the type of the field.
func (r *kernelReader) parameterPart(what string, name []syntax.Piece) *ir.Var {
	if r.parameter(what, name[0]) == nil {
		return nil
	}
	v, fault := r.partOf(name)
	if fault != nil {
		r.fail(fault.at, what, fault.why, fault.instead)
		return nil
	}
	return v
}

// partOf is parameterPart, but returns the error instead of reporting it.
func (r *kernelReader) partOf(name []syntax.Piece) (*ir.Var, *clauseFault) {
	i := slices.IndexFunc(r.k.Params, func(v *ir.Var) bool { return v.Name == name[0].Text && v.Name != "_" })
	if i < 0 {
		return nil, &clauseFault{at: name[0]}
	}
	v := r.k.Params[i]
	path, t, fault := r.fieldsOf(v, r.b.Busy[0].Signature().Params().At(i).Type(), name)
	if fault != nil {
		return nil, fault
	}
	if ir.IsSplit(t) {
		return nil, &clauseFault{name[0], textOf(name) + " is " + t.String() + ", which holds slices or pointers", "name them: " + textOf(name) + "." + addressLeaf(t).Name}
	}
	if !ir.IsSplit(v.Type) {
		if len(path) == 0 {
			return v, nil
		}
		return &ir.Var{Name: textOf(name), Type: t, Space: ir.Param, At: v.At}, nil
	}
	for n, l := range ir.Leaves(v.Type) {
		switch {
		case slices.Equal(l.Path, path):
			return r.b.LeavesOf(v)[n], nil
		case len(l.Path) < len(path) && slices.Equal(l.Path, path[:len(l.Path)]):
			return &ir.Var{Name: textOf(name), Type: t, Space: ir.Param, At: v.At}, nil
		}
	}
	panic("gompss: bug: codegen: no leaf " + textOf(name))
}

// fieldsOf resolves the field selectors of name, starting at v of Go type goType. path has the
// indices of the selected fields and of the embedded structs between them; t is the type of the
// last field.
func (r *kernelReader) fieldsOf(v *ir.Var, goType types.Type, name []syntax.Piece) (path []int, t *ir.Type, fault *clauseFault) {
	t, goType = v.Type, r.b.Env.Types.Closed(goType)
	for n, f := range name[1:] {
		o, index, _ := types.LookupFieldOrMethod(goType, true, r.b.Program.GoTypes, f.Text)
		field, ok := o.(*types.Var)
		if !ok {
			return nil, nil, &clauseFault{f, textOf(name[:n+1]) + " has no field " + f.Text, "name one of its fields"}
		}
		for _, i := range index {
			if t.Kind == ir.Pointer {
				return nil, nil, &clauseFault{f, "it lies behind pointer " + textOf(name[:n+1]), "name all that this points at: *" + textOf(name[:n+1])}
			}
			if t.Kind != ir.Struct || i >= len(t.Fields) { // the declaration of the type has been refused
				return nil, query.BadType, nil
			}
			path, t = append(path, i), t.Fields[i].Type
		}
		goType = field.Type()
	}
	return path, t, nil
}

func textOf(name []syntax.Piece) string {
	words := make([]string, len(name))
	for i, p := range name {
		words[i] = p.Text
	}
	return strings.Join(words, ".")
}

// addressLeaf returns the first leaf of t that is a slice or pointer.
func addressLeaf(t *ir.Type) ir.Leaf {
	list := ir.Leaves(t)
	return list[slices.IndexFunc(list, func(l ir.Leaf) bool { return query.IsAddress(l.Type) })]
}
