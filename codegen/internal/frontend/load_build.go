package frontend

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/check"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A unit is one kernel under construction.
type unit struct {
	p       *source.Program
	k       *ir.Kernel
	diags   []diag.Diagnostic
	failed  map[diag.Diagnostic]bool
	refused map[ir.Pos]bool  // the lines in what the kernel reaches where go/types finds errors
	unknown ir.Pos           // the first expression whose type is not known
	funcs   []*instance      // the functions that are called
	names   map[string]bool  // of the functions
	busy    []*types.Func    // the functions under construction, the kernel first
	inlined int              // how many bodies were inlined
	vague   check.Vagueness  // what clauses with errors may have declared
	nesting int              // of bodies being inlined
	size    int              // the number of statements that were built
	temps   map[*ir.Var]bool // variables that the builder made, each to hold one value
	taken   map[*ir.Var]bool // variables of which the address or a slice is taken somewhere
	fixed   map[*ir.Var]bool // variables that nothing changes after their declaration

	globals map[*types.Var]*ir.Var // the package variables that are read
	leaves  map[*ir.Var][]*ir.Var  // of the variables that are split
	splits  bool                   // there are values that are split
}

// A builder makes the body of one function. What an expression needs to have run before it (calls,
// inlined bodies) goes to out, in Go's order of evaluation.
type builder struct {
	u     *unit
	env   *frame
	out   []ir.Stmt
	exits []exit
	text  *clauseText // of the clause being read, nil for code
	host  bool        // the clause is one of target or task

	collapse  int    // how many more loops are collapsed into the one around
	collapsed string // the text of its directive
}

// A frame gives the objects of one function body their meaning. The body of a function literal is
// built once for every call of it, each time with a frame of its own inside of that of the function
// around.
type frame struct {
	outer   *frame
	vars    map[types.Object]*ir.Var
	bodies  map[types.Object]*inlinable
	places  map[types.Object]ir.Expr // what pointers to structs that are split point at
	types   *typing.Converter
	results *resultPlace
	exits   int // the number of exits around the body, which returns do not cross
}

// A clauseText is a piece of a comment that is being read as an expression: positions in it count
// from at.
type clauseText struct {
	at   token.Pos
	size int
}

// build makes the loop IR of kernel f with the given type arguments.
func (p *Package) build(f *types.Func, decl *ast.FuncDecl, args []types.Type) (*ir.Kernel, []diag.Diagnostic) {
	k := &ir.Kernel{Name: typing.InstanceName(f.Name(), args), Package: p.src.Name, At: p.src.Position(decl.Name.Pos())}
	u := &unit{p: p.src, k: k, failed: map[diag.Diagnostic]bool{}, temps: map[*ir.Var]bool{}, taken: map[*ir.Var]bool{}, fixed: map[*ir.Var]bool{}, names: map[string]bool{k.Name: true},
		globals: map[*types.Var]*ir.Var{}, leaves: map[*ir.Var][]*ir.Var{}, busy: []*types.Func{f}}
	u.refused = p.refusedLines(decl)
	b := u.builder(typingOf(f, args))
	k.Params = b.parameters(f.Signature(), decl)
	u.vague.All = p.src.CloudedFunction(decl)
	unfit(b, f.Signature(), decl)
	d := p.src.Directives[decl]
	shapes := functionDirective(b, k, d, decl)
	if k.Target.Native == nil { // else a text beside it says what devices run
		k.Body = b.body(decl.Body)
	}
	if u.size > source.MaxStatements || !u.checkSize() {
		return k, u.diags
	}
	u.checkEscapes(k.Params, k.Body)
	u.finish(shapes)
	return k, diag.Folded(slices.DeleteFunc(u.diags, p.src.Silences))
}

// refusedLines returns the lines in what decl reaches where go/types finds errors.
func (p *Package) refusedLines(decl *ast.FuncDecl) map[ir.Pos]bool {
	out := map[ir.Pos]bool{}
	for _, d := range p.src.ErrorsIn(p.reach.ReachOf(decl)) {
		out[ir.Pos{File: d.Pos.File, Line: d.Pos.Line}] = true
	}
	return out
}

// finish runs the checks that need the whole kernel, fuses sums where contract says so, and infers
// the accesses that no clause names.
func (u *unit) finish(shapes map[*ir.Var][]ir.Expr) {
	if (u.unknown != ir.Pos{}) && !u.hasErrors() && len(u.refused) == 0 {
		d, ok := u.p.ForeignCause(u.unknown)
		if !ok {
			d = diag.Diagnostic{Pos: u.unknown, What: "expression", Why: "its type is not known", Instead: "write it in terms that go vet accepts"}
		}
		u.report(d)
	}
	u.checkCapacities()
	u.splitStructs()
	u.nameSlices()
	u.placeGlobals()
	check.Absorb(u.k.Body)
	for _, f := range u.k.Funcs {
		check.Absorb(f.Body)
	}
	for _, d := range check.Kernel(u.k, u.p.Clouded, !u.hasErrors()) {
		u.report(d)
	}
	written := len(u.k.Task.Accesses) > 0 || u.vague.Any()
	known := u.k.Task.Present && !u.vague.All && u.k.Target.Native == nil
	if known && written {
		for _, d := range check.Accesses(u.k, u.vague) {
			u.report(d)
		}
	}
	if u.hasErrors() {
		return
	}
	if u.k.Target.Contract {
		fuse(u.k)
	}
	if known && !written {
		u.k.Task.Accesses, u.k.Task.Inferred = analysis.Infer(u.k, shapes), true
	}
}

// source returns the name of the kernel as it is written; an instance of a generic kernel has
// another one.
func (u *unit) source() string { return u.busy[0].Name() }

func (u *unit) hasErrors() bool {
	for _, d := range u.diags {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

// report takes a diagnostic; the second one of the same text is dropped.
func (u *unit) report(d diag.Diagnostic) {
	sameLine := ir.Pos{File: d.Pos.File, Line: d.Pos.Line}
	if !u.failed[d] && !u.refused[sameLine] { // what Go itself refuses needs no second opinion
		u.failed[d] = true
		u.diags = append(u.diags, d)
	}
}

// unfit gives what a kernel must not have, a receiver and results, a meaning, for the errors in its
// body.
func unfit(b *builder, sig *types.Signature, decl *ast.FuncDecl) {
	b.env.results = &resultPlace{}
	if r := sig.Recv(); r != nil {
		t, _ := b.env.types.Convert(r.Type())
		b.variable(r, t, ir.Param)
	}
	for i := range sig.Results().Len() {
		o := sig.Results().At(i)
		t := b.typeAt(o.Type(), decl.Type.Results.Pos())
		b.env.results.types = append(b.env.results.types, t)
		if o.Name() != "" {
			b.env.results.named = append(b.env.results.named, b.variable(o, t, ir.Local))
		}
	}
}

// builder returns a builder of a function body.
func (u *unit) builder(y *typing.Converter) *builder {
	b := &builder{u: u}
	b.env = &frame{vars: map[types.Object]*ir.Var{}, bodies: map[types.Object]*inlinable{}, places: map[types.Object]ir.Expr{}, types: y}
	return b
}

// parameters declares the parameters of a function.
func (b *builder) parameters(sig *types.Signature, decl *ast.FuncDecl) []*ir.Var {
	out := make([]*ir.Var, sig.Params().Len())
	places := fieldTypes(decl.Type.Params)
	for i := range out {
		o := sig.Params().At(i)
		b.blame(places[i])
		t := b.typeAt(o.Type(), places[i].Pos())
		out[i] = b.variable(o, t, ir.Param)
	}
	return out
}

// fieldTypes returns the type of each variable of a list, as written.
func fieldTypes(list *ast.FieldList) []ast.Expr {
	var out []ast.Expr
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out = append(out, f.Type)
		}
	}
	return out
}

// newVar makes a variable.
func (b *builder) newVar(name string, t *ir.Type, space ir.Space, at ir.Pos) *ir.Var {
	if name == "" {
		name = "_"
	}
	v := &ir.Var{Name: name, Type: t, Space: space, ID: b.u.k.NumVars, At: at}
	b.u.k.NumVars++
	b.u.splits = b.u.splits || ir.IsSplit(t)
	return v
}

// variable makes the variable of a Go object.
func (b *builder) variable(o types.Object, t *ir.Type, space ir.Space) *ir.Var {
	v := b.newVar(o.Name(), t, space, b.pos(o.Pos()))
	b.mean(o, v)
	return v
}

// mean makes v the variable of o.
func (b *builder) mean(o types.Object, v *ir.Var) {
	b.env.vars[o] = v
	f := b.u.p.Fates.Fate(o)
	b.u.taken[v] = f.Taken || f.Pointed && (b.u.p.Fates.LeavesLent || !ir.IsSplit(v.Type))
	b.u.fixed[v] = f == source.Fate{}
}

// Find returns the variable of o, nil where it has none.
func (b *builder) find(o types.Object) *ir.Var {
	for f := b.env; f != nil; f = f.outer {
		if v := f.vars[o]; v != nil {
			return v
		}
	}
	return nil
}

func (b *builder) emit(s ir.Stmt) { b.out = append(b.out, s) }

// collect returns what f emits.
func (b *builder) collect(f func()) []ir.Stmt {
	kept := b.out
	b.out = nil
	f()
	got := b.out
	b.out = kept
	return got
}

// temp evaluates e now and returns what holds its value.
func (b *builder) temp(name string, e ir.Expr, at ir.Pos) ir.Expr {
	v := b.newVar(name, e.Type(), ir.Local, at)
	b.u.temps[v] = true
	b.emit(&ir.Decl{Var: v, Init: e, At: at})
	return &ir.Ref{Var: v, At: at}
}

// zeroVar returns a new variable that starts as zero.
func (b *builder) zeroVar(name string, t *ir.Type, at ir.Pos) *ir.Ref {
	v := b.newVar(name, t, ir.Local, at)
	b.u.temps[v] = true
	b.emit(&ir.Decl{Var: v, At: at})
	return &ir.Ref{Var: v, At: at}
}

// adopt makes the variable that was made to hold value, if that is one, the variable of o.
func (b *builder) adopt(o types.Object, value ir.Expr) bool {
	r, ok := value.(*ir.Ref)
	if !ok || !b.u.temps[r.Var] {
		return false
	}
	delete(b.u.temps, r.Var)
	r.Var.Name = o.Name()
	b.mean(o, r.Var)
	return true
}

// pos returns the position of p in the user's source; inside a clause p counts from the start of
// its text.
func (b *builder) pos(p token.Pos) ir.Pos {
	if b.text != nil && p.IsValid() {
		p = b.text.at + min(p-1, token.Pos(b.text.size))
	}
	return b.u.p.Position(p)
}

// fail reports that something is not possible.
func (b *builder) fail(pos token.Pos, what, why, instead string) {
	b.u.report(diag.Diagnostic{Pos: b.pos(pos), Severity: diag.Error, What: what, Why: why, Instead: instead})
}

// unknown notes an expression without a type. As a rule the cause is reported where it stands;
// where it is not, the kernel must fail all the same.
func (b *builder) unknown(pos token.Pos) {
	b.unknownAt(b.pos(pos))
}

func (b *builder) unknownAt(at ir.Pos) {
	if (b.u.unknown == ir.Pos{}) {
		b.u.unknown = at
	}
}

// lookup returns the variable that name means at a place in the source, nil where it means none.
func (b *builder) lookup(name string, at token.Pos) *ir.Var {
	scope := b.u.p.PackageAt(at).Scope().Innermost(at)
	if scope == nil {
		return nil
	}
	_, o := scope.LookupParent(name, at)
	if o == nil {
		return nil
	}
	if !b.host && isPackageVariable(o) {
		if t, err := b.env.types.Convert(o.Type()); err == nil {
			return b.globalOf(o.(*types.Var), t)
		}
	}
	return b.find(o)
}

// clauseExpr returns the expression that text means at scopeAt; nil, and the errors reported, where
// it means none. textPos is where it stands in the comment.
func clauseExpr(b *builder, text string, textPos, scopeAt token.Pos) ir.Expr {
	before := len(b.u.diags)
	kept := b.text
	b.text = &clauseText{at: textPos, size: len(text)}
	defer func() { b.text = kept }()
	e := parseClause(b, text, scopeAt)
	if e == nil || len(b.u.diags) > before {
		return nil
	}
	return e
}

func parseClause(b *builder, text string, scopeAt token.Pos) ir.Expr {
	what := "expression " + strings.TrimSpace(text)
	fset := token.NewFileSet()
	syntax, err := parser.ParseExprFrom(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		why := "it is no Go expression"
		if list := source.SyntaxErrors(err); len(list) > 0 {
			why = list[0].Why
		}
		b.fail(1, what, why, "write a Go expression")
		return nil
	}
	if deep, most := source.Deepest(syntax); deep != nil {
		b.fail(1, what[:min(len(what), 40)], source.TooDeep(most), "assign it to a variable before")
		return nil
	}
	if err := types.CheckExpr(fset, b.u.p.PackageAt(scopeAt), scopeAt, syntax, b.u.p.Info); err != nil {
		pos, why := token.Pos(1), err.Error()
		if e, ok := err.(types.Error); ok {
			pos, why = e.Pos, source.GoMessage(e.Msg)
		}
		b.fail(pos, what, why, "write a Go expression over what is in scope here")
		return nil
	}
	var e ir.Expr
	before := len(b.u.diags)
	hoisted := b.collect(func() { e = b.expr(syntax) })
	switch {
	case len(b.u.diags) > before:
		return nil
	case query.HasBadValue(e) || isBad(e):
		b.unknown(1)
		return nil
	case len(hoisted) > 0:
		b.fail(1, what, "it calls a function or needs memory of its own", "assign it to a variable before")
		return nil
	}
	return e
}
