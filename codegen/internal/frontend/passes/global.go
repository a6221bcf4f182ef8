package passes

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// A kernel reads package variables and does not change them. Each one that it reads, directly or in
// a called function, is one more parameter after those of the Go function (ir.Global). The
// submission of a task sets this parameter, and the functions on the way to the use pass it on.

// Limits of the variables that are passed by value, as arguments of a launch: a launch has at most
// 4 KiB of arguments.
const (
	maxGlobalValue  = 1 << 10 // of one variable
	maxGlobalValues = 2 << 10 // of all of a kernel
)

// PlaceGlobals makes the package variables that the kernel reads parameters of it and of the
// functions that read them.
func (u *Pass) PlaceGlobals() {
	if len(u.Globals) == 0 {
		return
	}
	list := make([]*ir.Var, 0, len(u.Globals))
	paths := map[*ir.Var]string{}
	for o, v := range u.Globals {
		leaves := []*ir.Var{v}
		if ir.IsSplit(v.Type) {
			leaves = u.leavesRead(o, v)
		}
		for _, v := range leaves {
			list = append(list, v)
			if u.Program.NameOfOther(o) != "" {
				paths[v] = o.Pkg().Path()
			}
		}
	}
	slices.SortFunc(list, func(a, b *ir.Var) int { return cmp.Compare(a.Name, b.Name) })
	u.checkGlobalWrites(list)
	uses := u.globalUses()
	room := maxGlobalValues
	for _, v := range list {
		g := ir.Global{Var: v, Type: v.Type, Package: paths[v]}
		switch size := int(v.Type.Size); {
		case v.Type.IsScalar() || query.IsAddress(v.Type):
		case size <= maxGlobalValue && size <= room && (v.Type.Kind == ir.Struct || !uses[v].sliced):
			room -= size
		case v.Type.Kind == ir.Struct:
			g.Shared = true
		case !uses[v].whole:
			v.Type, g.Shared = ir.SliceOf(v.Type.Elem), true
		case size <= room:
			room -= size
		default:
			u.Report(diag.Diagnostic{Pos: uses[v].at, What: "package variable " + v.Name, Instead: "use its elements, or a slice of it",
				Why: "all of it is copied here, and at most " + strconv.Itoa(maxGlobalValues) + " bytes can be: it has " + strconv.Itoa(size)})
		}
		u.Kernel.Globals = append(u.Kernel.Globals, g)
		u.Kernel.Params = append(u.Kernel.Params, v)
	}
	u.throughPointers()
	u.passGlobals(list)
	u.declareGlobals()
}

// leavesRead returns the leaves of v, a package variable that is split, that the kernel reads.
func (u *Pass) leavesRead(o types.Object, v *ir.Var) (out []*ir.Var) {
	read := &ir.VarSet{}
	for _, body := range u.Bodies() {
		for _, x := range ir.Used(body).List() {
			read.Add(x)
		}
	}
	for i, leaf := range u.LeavesOf(v) {
		if !read.Has(leaf) {
			continue
		}
		out = append(out, leaf)
		if l := ir.Leaves(v.Type)[i]; u.Program.NameOfOther(o) != "" && slices.ContainsFunc(strings.Split(l.Name, "."), func(f string) bool { return !ast.IsExported(f) }) {
			u.Report(diag.Diagnostic{Pos: v.At, What: "package variable " + v.Name, Why: "the wrapper of the kernel, in package " + u.Program.Name + ", cannot name its field " + l.Name,
				Instead: "export the field, or pass it as a parameter"})
		}
	}
	return out
}

// A globalUse describes the use of a package variable that is an array.
type globalUse struct {
	whole  bool // as a value, or by its address
	sliced bool // or an element of it by its address
	at     ir.Pos
}

func (u *Pass) globalUses() map[*ir.Var]globalUse {
	out := map[*ir.Var]globalUse{}
	parts := map[ir.Expr]bool{}
	look := func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Index:
			parts[e.X] = true
		case *ir.Reslice:
			parts[e.X] = true
			u.sliced(e.X, out)
		case *ir.AddrOf:
			if _, whole := e.X.(*ir.Ref); !whole {
				u.sliced(e.X, out)
			}
		case *ir.Ref:
			if !parts[e] {
				use := out[e.Var]
				use.whole, use.at = true, e.At
				out[e.Var] = use
			}
		}
	}
	for _, body := range u.Bodies() {
		ir.Inspect(body, nil, look)
	}
	return out
}

func (u *Pass) sliced(e ir.Expr, out map[*ir.Var]globalUse) {
	if v := ir.RootVar(e); v != nil {
		use := out[v]
		use.sliced = true
		out[v] = use
	}
}

// throughPointers makes the structs that stay where they are parameters that are pointers.
func (u *Pass) throughPointers() {
	pointers := map[*ir.Var]*ir.Type{}
	for _, g := range u.Kernel.Globals {
		if g.Shared && g.Type.Kind == ir.Struct {
			pointers[g.Var] = g.Type
			g.Var.Type = ir.PointerTo(g.Type)
		}
	}
	if len(pointers) == 0 {
		return
	}
	u.RewriteAll(&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if r, ok := e.(*ir.Ref); ok && pointers[r.Var] != nil {
			return &ir.Deref{X: e, At: r.At}
		}
		return e
	}})
}

// passGlobals adds parameters for package variables to each function that reads them, directly or
// in a called function.
func (u *Pass) passGlobals(list []*ir.Var) {
	needs := map[*ir.Func][]*ir.Var{}
	for _, f := range u.Kernel.Funcs { // callees come first
		used := ir.Used(f.Body)
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
			if c, ok := s.(*ir.Call); ok {
				for _, v := range needs[c.Fn] {
					used.Add(v)
				}
			}
			return true
		})
		for _, v := range list {
			if used.Has(v) {
				needs[f] = append(needs[f], v)
			}
		}
	}
	if len(needs) == 0 {
		return
	}
	pass := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if c, ok := s.(*ir.Call); ok {
			for _, v := range needs[c.Fn] {
				c.Args = append(c.Args, &ir.Ref{Var: v, At: c.At})
			}
		}
		return []ir.Stmt{s}
	}}
	u.RewriteAll(pass)
	for _, f := range u.Kernel.Funcs {
		if len(needs[f]) > 0 {
			u.ownGlobals(f, needs[f])
		}
	}
}

// ownGlobals makes vars, which f reads, parameters of f.
func (u *Pass) ownGlobals(f *ir.Func, vars []*ir.Var) {
	own := map[*ir.Var]*ir.Var{}
	for _, v := range vars {
		c := *v
		c.ID = u.Kernel.NumVars
		u.Kernel.NumVars++
		own[v] = &c
		f.Params = append(f.Params, &c)
	}
	f.Body = build.WithVars(own).CopyStmts(f.Body)
}

// declareGlobals adds read accesses to the whole memory to which package variables refer. They are
// inferred if the other accesses are inferred.
func (u *Pass) declareGlobals() {
	t := &u.Kernel.Target
	if !u.Kernel.Task.Present || len(u.Kernel.Task.Accesses) == 0 && !t.NoCopyDeps {
		return
	}
	for _, g := range u.Kernel.Globals {
		if !query.IsAddress(g.Var.Type) {
			continue
		}
		whole := ir.Region{Var: g.Var, Text: g.Var.Name, At: g.Var.At}
		if g.Var.Type.Kind == ir.Pointer {
			whole.Text = "*" + whole.Text
		}
		if t.NoCopyDeps {
			t.CopyIn = append(t.CopyIn, whole)
		} else {
			u.Kernel.Task.Accesses = append(u.Kernel.Task.Accesses, ir.Access{Region: whole, Mode: deps.In})
		}
	}
}
