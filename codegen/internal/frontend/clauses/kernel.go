// Package clauses gives directives and clauses their meaning: the expressions in them, the
// variables that they name, the regions of tasks.
package clauses

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// deviceWords are the kinds that a kernel can name; acc stands for every accelerator.
var deviceWords = []string{"acc", "smp", "cuda", "opencl"}

// ReadFunction fills k.Target and k.Task from d, which stands on decl, and returns the shapes
// that it gives to parameters.
func ReadFunction(b *exprs.Builder, k *ir.Kernel, d *syntax.Directive, decl *ast.FuncDecl) map[*ir.Var][]ir.Expr {
	r := &kernelReader{k: k, shapes: map[*ir.Var][]ir.Expr{}}
	r.ClauseReader = ClauseReader{b: b, scope: source.BodyStart(decl), host: true, Lets: map[string]string{}}
	for _, l := range d.Named("let") {
		r.let(l)
	}
	for _, l := range d.Named("shape") {
		r.shape(l)
	}
	// A target is always a task (Ozen, Compiler and Runtime Based Parallelization & Optimization
	// for GPUs, 2017, section 3.5.2): without the directive its accesses are inferred.
	k.Target.Present, k.Task.Present = d.Has("target"), d.Has("task") || d.Has("target")
	for _, l := range d.Named("target") {
		for _, c := range l.Clauses {
			r.targetClause(c)
		}
	}
	r.checkTokens()
	for _, l := range d.Named("task") {
		for _, c := range l.Clauses {
			r.taskClause(c)
		}
	}
	r.checkTaskloop(d)
	r.checkNative(d)
	k.Task.Accesses = analysis.MergeAccesses(k.Task.Accesses)
	return r.shapes
}

type kernelReader struct {
	ClauseReader
	k      *ir.Kernel
	shapes map[*ir.Var][]ir.Expr
	count  int            // of regions
	tokens []syntax.Piece // of the resources clauses, beside k.Target.Resources
	native syntax.Piece   // the first clause of native, ndrange and shmem
}

// let reads "name = expr".
func (r *kernelReader) let(l *syntax.Line) {
	name, expr, found := l.Rest.Cut('=')
	word, rest := syntax.NextWord(name)
	switch {
	case !found || word.Text == "" || rest.Text != "" || expr.Text == "":
		r.b.Fail(l.Rest.At, "directive let", "'"+l.Rest.Text+"' does not name an expression", "write //omp:let name = expression")
		return
	case r.Lets[word.Text] != "" || r.parameterNamed(word.Text):
		r.b.Fail(word.At, "directive let", word.Text+" is declared already", "take another name")
		return
	}
	r.Lets[word.Text] = ""
	if r.expr("directive let", expr) != nil {
		r.Lets[word.Text], _ = r.Expand(expr.Text)
	}
}

// parameterNamed reports whether the kernel has a parameter of that name.
func (r *kernelReader) parameterNamed(name string) bool {
	return slices.ContainsFunc(r.k.Params, func(v *ir.Var) bool { return v.Name == name })
}

// shape reads "a [n][m]".
func (r *kernelReader) shape(l *syntax.Line) {
	name, rest := fieldPath(l.Rest)
	groups, after, ok := brackets(rest)
	if len(name) == 0 || !ok || len(groups) == 0 || after.Text != "" {
		r.b.Fail(l.Rest.At, "directive shape", "'"+l.Rest.Text+"' does not give a slice its extents", "write //omp:shape a [n][m]")
		return
	}
	v := r.parameterPart("directive shape", name)
	if v == nil {
		return
	}
	switch {
	case v.Type.Kind == ir.Invalid: // reported where it is declared
	case v.Type.Kind != ir.Slice:
		r.fail(name[0], "directive shape", v.Name+" is "+v.Type.String(), "name a parameter that is a slice")
	case r.shapes[v] != nil:
		r.fail(name[0], "directive shape", v.Name+" has a shape already", "keep one of them")
	default:
		r.shapes[v] = r.extents("directive shape", groups)
	}
}

// extents reads the extents of a shape; the first may be empty.
func (r *kernelReader) extents(what string, groups []syntax.Piece) []ir.Expr {
	out := make([]ir.Expr, len(groups))
	for i, g := range groups {
		if i > 0 || g.Text != "" {
			out[i] = r.positive(what, g)
		}
	}
	return out
}

// brackets cuts all leading [ ] groups off p and returns their contents.
func brackets(p syntax.Piece) (groups []syntax.Piece, rest syntax.Piece, ok bool) {
	for rest = p.Trim(); strings.HasPrefix(rest.Text, "["); rest = rest.Trim() {
		end := rest.Closing()
		if end < 0 || rest.Text[end] != ']' {
			return groups, rest, false
		}
		groups = append(groups, rest.Sub(1, end).Trim())
		rest = rest.From(end + 1)
	}
	return groups, rest, true
}

// parameter returns the parameter that p names.
func (r *kernelReader) parameter(what string, p syntax.Piece) *ir.Var {
	for _, v := range r.k.Params {
		if v.Name == p.Text && v.Name != "_" {
			return v
		}
	}
	names := make([]string, len(r.k.Params))
	for i, v := range r.k.Params {
		names[i] = v.Name
	}
	instead := "name a parameter of " + r.b.Source()
	if near := syntax.Nearest(p.Text, names); near != "" {
		instead = "write " + near
	}
	r.fail(p, what, "'"+p.Text+"' is not a parameter of "+r.b.Source(), instead)
	return nil
}

func (r *kernelReader) targetClause(c syntax.Clause) {
	what, arg, t := "clause "+c.Name.Text, c.Args.Trim(), &r.k.Target
	switch c.Name.Text {
	case "device":
		r.devices(what, c.Args)
	case "resources":
		r.resources(what, c.Args)
	case "copy_in":
		t.CopyIn = append(t.CopyIn, r.regions(what, c.Args)...)
	case "copy_out":
		t.CopyOut = append(t.CopyOut, r.regions(what, c.Args)...)
	case "copy_inout":
		t.CopyInOut = append(t.CopyInOut, r.regions(what, c.Args)...)
	case "no_copy_deps":
		t.NoCopyDeps = true
	case "implements":
		t.Implements = r.function(what, arg)
	case "fastmath":
		t.FastMath = true
	case "contract":
		t.Contract = true
	case "overlap":
		_, t.OverlapOK = r.word(what, arg, []string{"ok"})
	case "check":
		i, _ := r.word(what, arg, []string{"bounds", "none"})
		t.NoBounds = i == 1
	case "native", "ndrange", "shmem":
		r.nativeClause(c)
	}
}

func (r *kernelReader) devices(what string, args syntax.Piece) {
	for _, p := range args.Split(',') {
		if _, ok := r.word(what, p, deviceWords); !ok {
			continue
		}
		if slices.Contains(r.k.Target.Kinds, p.Text) {
			r.fail(p, what, p.Text+" stands in it twice", "name it once")
			continue
		}
		r.k.Target.Kinds = append(r.k.Target.Kinds, p.Text)
	}
}

func (r *kernelReader) resources(what string, args syntax.Piece) {
	for _, p := range args.Split(',') {
		kind, tokens, found := p.Cut(':')
		if !found {
			r.fail(p, what, "'"+p.Text+"' is not a kind and its tokens", "write resources(acc: 1)")
			continue
		}
		if _, ok := r.word(what, kind, deviceWords); !ok {
			continue
		}
		e := r.integer(what, tokens)
		if v, ok := query.Int64(e); ok && (v < 0 || v > 100) {
			r.fail(tokens, what, "a kind has 100 tokens, and "+tokens.Text+" is outside 0 to 100", "write a part of 100")
			continue
		}
		same := func(t ir.Tokens) bool { return t.Kind == kind.Text }
		if slices.ContainsFunc(r.k.Target.Resources, same) {
			r.fail(kind, what, kind.Text+" stands in it twice", "name it once")
			continue
		}
		r.k.Target.Resources = append(r.k.Target.Resources, ir.Tokens{Kind: kind.Text, Tokens: e})
		r.tokens = append(r.tokens, kind)
	}
}

// checkTokens refuses tokens of a kind that may not run the kernel.
func (r *kernelReader) checkTokens() {
	kinds := r.k.Target.Kinds
	if len(kinds) == 0 {
		return
	}
	for _, p := range r.tokens {
		accelerator := p.Text != "smp" && slices.ContainsFunc(kinds, func(k string) bool {
			return k == "acc" || p.Text == "acc" && k != "smp"
		})
		if !accelerator && !slices.Contains(kinds, p.Text) {
			r.fail(p, "clause resources", p.Text+" is not one of the kinds in device("+strings.Join(kinds, ", ")+")",
				"name it in device, or leave it out here")
		}
	}
}

// function reads the name of a function of the package.
func (r *kernelReader) function(what string, p syntax.Piece) string {
	name, rest := syntax.NextWord(p)
	switch {
	case name.Text == "" || rest.Text != "":
		r.fail(p, what, "'"+p.Text+"' is not the name of a function", "write implements(F)")
	case name.Text == r.b.Source():
		r.fail(p, what, name.Text+" is this kernel itself", "name the task that this is another version of")
	case !isFunctionName(r.b, name.Text):
		r.fail(p, what, "the package has no function "+name.Text, "name the task that this is another version of")
	default:
		if why, instead := another(r.b, name.Text); why != "" {
			r.fail(p, what, why, instead)
			return ""
		}
		return name.Text
	}
	return ""
}

// another returns the reason why the kernel cannot be another version of the named function.
func another(b *exprs.Builder, name string) (why, instead string) {
	task := b.Program.GoTypes.Scope().Lookup(name).(*types.Func)
	if d := b.Program.Directives[b.Program.Funcs[task]]; !d.Has("target") && !d.Has("task") {
		return name + " is no kernel", "write //omp:task above it"
	}
	theirs, own := task.Signature(), b.Busy[0].Signature()
	if n, m := theirs.Params().Len(), own.Params().Len(); n != m {
		return name + " has " + strconv.Itoa(n) + " " + diag.Plural(n, "parameter", "parameters") + ", and this kernel " + strconv.Itoa(m), "give both the same parameters"
	}
	if theirs.TypeParams().Len() != own.TypeParams().Len() {
		return name + " has other type parameters", "give both the same"
	}
	for i := range own.Params().Len() {
		if v, of := own.Params().At(i), theirs.Params().At(i); !alike(v.Type(), of.Type()) {
			short := types.RelativeTo(b.Program.GoTypes)
			return "parameter " + v.Name() + " is " + types.TypeString(v.Type(), short) + ", and " + types.TypeString(of.Type(), short) + " in " + name,
				"give both the same parameters"
		}
	}
	return "", ""
}

// alike reports whether values of two types of parameters are the same on a device; a type
// parameter is like another.
func alike(a, b types.Type) bool {
	_, freeA := types.Unalias(a).(*types.TypeParam)
	_, freeB := types.Unalias(b).(*types.TypeParam)
	if freeA || freeB {
		return freeA && freeB
	}
	a, b = a.Underlying(), b.Underlying()
	switch x := a.(type) {
	case *types.Slice:
		y, ok := b.(*types.Slice)
		return ok && alike(x.Elem(), y.Elem())
	case *types.Pointer:
		y, ok := b.(*types.Pointer)
		return ok && alike(x.Elem(), y.Elem())
	case *types.Array:
		y, ok := b.(*types.Array)
		return ok && x.Len() == y.Len() && alike(x.Elem(), y.Elem())
	}
	return types.Identical(a, b)
}

// isFunctionName reports whether name is a function of the package.
func isFunctionName(b *exprs.Builder, name string) bool {
	_, ok := b.Program.GoTypes.Scope().Lookup(name).(*types.Func)
	return ok
}

func (r *kernelReader) taskClause(c syntax.Clause) {
	what, arg, t := "clause "+c.Name.Text, c.Args.Trim(), &r.k.Task
	switch c.Name.Text {
	case "priority":
		t.Priority = r.integer(what, arg)
	case "if":
		t.If = r.boolean(what, arg)
	case "final":
		t.Final = r.boolean(what, arg)
	case "untied":
		t.Untied = true
	case "label":
		t.Label = r.label(what, arg)
	case "taskloop":
		r.taskloop(what, arg)
	case "grainsize":
		r.loop().Grain = r.positive(what, arg)
	case "reduction":
		r.taskReduction(what, c.Args)
	default:
		for _, region := range r.regions(what, c.Args) {
			t.Accesses = append(t.Accesses, ir.Access{Region: region, Mode: accessModes[c.Name.Text]})
		}
	}
}

var accessModes = map[string]deps.Mode{"in": deps.In, "out": deps.Out, "inout": deps.InOut,
	"concurrent": deps.Concurrent, "commutative": deps.Commutative}

func (r *kernelReader) label(what string, p syntax.Piece) string {
	s, err := strconv.Unquote(p.Text)
	if err != nil || p.Text[0] == '\'' {
		r.fail(p, what, p.Text+" is not a quoted string", `write label("name")`)
		return ""
	}
	return s
}

func (r *kernelReader) taskReduction(what string, args syntax.Piece) {
	op, items := r.reduction(what, args)
	if op == ir.NoOp || op == ir.MinLoc || op == ir.MaxLoc {
		r.b.Incomplete.Name = true
	}
	if op == ir.MinLoc || op == ir.MaxLoc {
		r.fail(args.Trim(), what, "a task cannot combine pairs", "use min or max, or reduce inside the kernel")
		return
	}
	for _, p := range items {
		region, ok := r.region(what, p)
		if !ok {
			r.noteIncomplete(p)
			continue
		}
		elem := region.Var.Type.Elem
		for elem.Kind == ir.Array { // combined element by element
			elem = elem.Elem
		}
		if why := query.Reducible(op, elem); why != "" {
			r.fail(p, what, why+" for "+op.String()+", and "+region.Var.Name+" has elements of type "+region.Var.Type.Elem.String(), "use another operator")
			r.noteIncomplete(p)
			continue
		}
		r.k.Task.Accesses = append(r.k.Task.Accesses, ir.Access{Region: region, Mode: deps.Reduction, Op: op})
	}
}

// nativeKinds are the kinds of devices that run text of the program's own.
var nativeKinds = []string{"cuda", "opencl"}

// nativeClause reads native("file.cu"), ndrange(dimensions, items, team) and shmem(bytes) into
// r.k.Target.Native.
//
// Source: Alejandro Duran et al., OmpSs: a proposal for programming heterogeneous multi-core
// architectures, 2011, clause ndrange.
func (r *kernelReader) nativeClause(c syntax.Clause) {
	what, n := "clause "+c.Name.Text, r.k.Target.Native
	if n == nil {
		n = &ir.Native{}
		r.k.Target.Native, r.native = n, c.Name
	}
	switch c.Name.Text {
	case "native":
		n.File = r.nativeFile(what, c.Args.Trim())
	case "ndrange":
		n.Items, n.Team = r.ndrange(what, c.Args)
	case "shmem":
		n.Shared = r.integer(what, c.Args.Trim())
	}
}

// nativeFile reads the name of a file in the folder of the kernel.
func (r *kernelReader) nativeFile(what string, p syntax.Piece) string {
	file := r.label(what, p)
	if file != "" && (file != path.Base(file) || strings.HasPrefix(file, ".") || strings.HasSuffix(file, ".go")) {
		r.fail(p, what, file+" is not the name of a file beside this one", `write native("file.cu")`)
		return ""
	}
	return file
}

// ndrange reads the number of dimensions, as many numbers of work items, and up to as many sizes of
// a team.
func (r *kernelReader) ndrange(what string, args syntax.Piece) (items, team []ir.Expr) {
	parts := args.Split(',')
	n := r.constant(what, parts[0].Trim())
	if n == 0 {
		return nil, nil
	}
	if got := len(parts) - 1; n > 3 || got < n || got > 2*n {
		r.fail(args, what, "it has no number of dimensions from 1 to 3, the work items of each, and the size of a team in each",
			"write ndrange(1, n, 256) or ndrange(2, n, m, 16, 16)")
		return nil, nil
	}
	for i, p := range parts[1:] {
		if e := r.positive(what, p.Trim()); i < n {
			items = append(items, e)
		} else {
			team = append(team, e)
		}
	}
	return items, team
}

// checkNative refuses clauses of a native kernel without the others that it needs.
func (r *kernelReader) checkNative(d *syntax.Directive) {
	n := r.k.Target.Native
	if n == nil {
		return
	}
	if kinds := r.k.Target.Kinds; len(kinds) == 1 && slices.Contains(nativeKinds, kinds[0]) {
		n.Kind = kinds[0]
	}
	what := "clause " + r.native.Text
	switch {
	case syntax.Find(d.Clauses(), "native") == nil:
		r.fail(r.native, what, "there is no clause native beside it", `write native("file.cu")`)
	case syntax.Find(d.Clauses(), "ndrange") == nil:
		r.fail(r.native, what, "there is no clause ndrange beside it: the runtime does not know how many threads to start", "write ndrange(1, n, 256)")
	case n.Kind == "":
		r.fail(r.native, what, "clause device does not name the one kind that runs this text", "write device("+strings.Join(nativeKinds, ") or device(")+"), and implements(F) with a kernel F for the other kinds")
	case r.k.Target.Implements == "" && len(r.k.Task.Accesses) == 0:
		r.fail(r.native, what, "the compiler does not read this text, and no clause says what it accesses", "write in, out and inout in //omp:task, or implements(F)")
	}
}

// Loop returns the loop that the clauses of a taskloop describe.
func (r *kernelReader) loop() *ir.Taskloop {
	if r.k.Task.Loop == nil {
		r.k.Task.Loop = &ir.Taskloop{Lo: -1, Hi: -1}
	}
	return r.k.Task.Loop
}

// taskloop reads lo:hi, two parameters.
func (r *kernelReader) taskloop(what string, p syntax.Piece) {
	l := r.loop()
	lo, hi, found := p.Cut(':')
	if !found {
		r.fail(p, what, "'"+p.Text+"' does not name the bounds of the iterations", "write taskloop(lo:hi) with two parameters")
		return
	}
	l.Lo, l.Hi = r.bound(what, lo.Trim()), r.bound(what, hi.Trim())
	if l.Lo >= 0 && l.Lo == l.Hi {
		r.fail(p, what, "both bounds are "+lo.Text, "write taskloop(lo:hi) with two parameters")
	}
}

// bound returns the index of an integer parameter, -1 where p names none.
func (r *kernelReader) bound(what string, p syntax.Piece) int {
	v := r.parameter(what, p)
	switch {
	case v == nil || v.Type.Kind == ir.Invalid: // reported where it is declared
		return -1
	case v.Type.Kind != ir.Int64 || v.Type.Name != "int":
		r.fail(p, what, v.Name+" is "+v.Type.String(), "name a parameter of type int")
		return -1
	}
	return slices.Index(r.k.Params, v)
}

// checkTaskloop removes a taskloop without bounds, and refuses a grain size without one.
func (r *kernelReader) checkTaskloop(d *syntax.Directive) {
	l := r.k.Task.Loop
	if l == nil || l.Lo >= 0 && l.Hi >= 0 {
		return
	}
	if c := syntax.Find(d.Clauses(), "grainsize"); c != nil && syntax.Find(d.Clauses(), "taskloop") == nil {
		r.fail(c.Name, "clause grainsize", "there is no clause taskloop beside it", "write taskloop(lo:hi)")
	}
	r.k.Task.Loop = nil
}
