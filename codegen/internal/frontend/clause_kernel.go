package frontend

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// deviceWords are the kinds that a kernel can name; acc stands for every accelerator.
var deviceWords = []string{"acc", "smp", "cuda", "opencl"}

// functionDirective fills k.Target and k.Task from d, which stands on decl, and returns the shapes
// that it gives to parameters.
func (b *builder) functionDirective(k *ir.Kernel, d *directive, decl *ast.FuncDecl) map[*ir.Var][]ir.Expr {
	r := &kernelReader{k: k, shapes: map[*ir.Var][]ir.Expr{}}
	r.clauseReader = clauseReader{b: b, scope: bodyStart(decl), host: true, lets: map[string]string{}}
	for _, l := range d.named("let") {
		r.let(l)
	}
	for _, l := range d.named("shape") {
		r.shape(l)
	}
	// A target is always a task (001_ab8d859d95f513d8, section 3.5.2): without the directive its
	// accesses are inferred.
	k.Target.Present, k.Task.Present = d.has("target"), d.has("task") || d.has("target")
	for _, l := range d.named("target") {
		for _, c := range l.clauses {
			r.targetClause(c)
		}
	}
	r.checkTokens()
	for _, l := range d.named("task") {
		for _, c := range l.clauses {
			r.taskClause(c)
		}
	}
	k.Task.Accesses = analysis.MergeAccesses(k.Task.Accesses)
	return r.shapes
}

// bodyStart is where the parameters can be seen and nothing of the body.
func bodyStart(decl *ast.FuncDecl) token.Pos { return decl.Body.Lbrace + 1 }

type kernelReader struct {
	clauseReader
	k      *ir.Kernel
	shapes map[*ir.Var][]ir.Expr
	count  int     // of regions
	tokens []piece // of the resources clauses, beside k.Target.Resources
}

// let reads "name = expr".
func (r *kernelReader) let(l *line) {
	name, expr, found := l.rest.cut('=')
	word, rest := nextWord(name)
	switch {
	case !found || word.text == "" || rest.text != "" || expr.text == "":
		r.b.fail(l.rest.at, "directive let", "'"+l.rest.text+"' does not name an expression", "write //omp:let name = expression")
		return
	case r.lets[word.text] != "" || r.parameterNamed(word.text):
		r.b.fail(word.at, "directive let", word.text+" is declared already", "take another name")
		return
	}
	r.lets[word.text] = ""
	if r.expr("directive let", expr) != nil {
		r.lets[word.text], _ = r.expand(expr.text)
	}
}

// parameterNamed reports whether the kernel has a parameter of that name.
func (r *kernelReader) parameterNamed(name string) bool {
	return slices.ContainsFunc(r.k.Params, func(v *ir.Var) bool { return v.Name == name })
}

// shape reads "a [n][m]".
func (r *kernelReader) shape(l *line) {
	name, rest := fieldPath(l.rest)
	groups, after, ok := brackets(rest)
	if len(name) == 0 || !ok || len(groups) == 0 || after.text != "" {
		r.b.fail(l.rest.at, "directive shape", "'"+l.rest.text+"' does not give a slice its extents", "write //omp:shape a [n][m]")
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
func (r *kernelReader) extents(what string, groups []piece) []ir.Expr {
	out := make([]ir.Expr, len(groups))
	for i, g := range groups {
		if i > 0 || g.text != "" {
			out[i] = r.positive(what, g)
		}
	}
	return out
}

// brackets cuts all leading [ ] groups off p and returns what stands in them.
func brackets(p piece) (groups []piece, rest piece, ok bool) {
	for rest = p.trim(); strings.HasPrefix(rest.text, "["); rest = rest.trim() {
		end := rest.closing()
		if end < 0 || rest.text[end] != ']' {
			return groups, rest, false
		}
		groups = append(groups, rest.sub(1, end).trim())
		rest = rest.from(end + 1)
	}
	return groups, rest, true
}

// parameter returns the parameter that p names.
func (r *kernelReader) parameter(what string, p piece) *ir.Var {
	for _, v := range r.k.Params {
		if v.Name == p.text && v.Name != "_" {
			return v
		}
	}
	names := make([]string, len(r.k.Params))
	for i, v := range r.k.Params {
		names[i] = v.Name
	}
	instead := "name a parameter of " + r.b.u.source()
	if near := nearest(p.text, names); near != "" {
		instead = "write " + near
	}
	r.fail(p, what, "'"+p.text+"' is not a parameter of "+r.b.u.source(), instead)
	return nil
}

func (r *kernelReader) targetClause(c clause) {
	what, arg, t := "clause "+c.name.text, c.args.trim(), &r.k.Target
	switch c.name.text {
	case "device":
		r.devices(what, c.args)
	case "resources":
		r.resources(what, c.args)
	case "copy_in":
		t.CopyIn = append(t.CopyIn, r.regions(what, c.args)...)
	case "copy_out":
		t.CopyOut = append(t.CopyOut, r.regions(what, c.args)...)
	case "copy_inout":
		t.CopyInOut = append(t.CopyInOut, r.regions(what, c.args)...)
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
	}
}

func (r *kernelReader) devices(what string, args piece) {
	for _, p := range args.split(',') {
		if _, ok := r.word(what, p, deviceWords); !ok {
			continue
		}
		if slices.Contains(r.k.Target.Kinds, p.text) {
			r.fail(p, what, p.text+" stands in it twice", "name it once")
			continue
		}
		r.k.Target.Kinds = append(r.k.Target.Kinds, p.text)
	}
}

func (r *kernelReader) resources(what string, args piece) {
	for _, p := range args.split(',') {
		kind, tokens, found := p.cut(':')
		if !found {
			r.fail(p, what, "'"+p.text+"' is not a kind and its tokens", "write resources(acc: 1)")
			continue
		}
		if _, ok := r.word(what, kind, deviceWords); !ok {
			continue
		}
		e := r.integer(what, tokens)
		if v, ok := query.Int64(e); ok && (v < 0 || v > 100) {
			r.fail(tokens, what, "a kind has 100 tokens, and "+tokens.text+" is outside 0 to 100", "write a part of 100")
			continue
		}
		same := func(t ir.Tokens) bool { return t.Kind == kind.text }
		if slices.ContainsFunc(r.k.Target.Resources, same) {
			r.fail(kind, what, kind.text+" stands in it twice", "name it once")
			continue
		}
		r.k.Target.Resources = append(r.k.Target.Resources, ir.Tokens{Kind: kind.text, Tokens: e})
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
		accelerator := p.text != "smp" && slices.ContainsFunc(kinds, func(k string) bool {
			return k == "acc" || p.text == "acc" && k != "smp"
		})
		if !accelerator && !slices.Contains(kinds, p.text) {
			r.fail(p, "clause resources", p.text+" is not one of the kinds in device("+strings.Join(kinds, ", ")+")",
				"name it in device, or leave it out here")
		}
	}
}

// function reads the name of a function of the package.
func (r *kernelReader) function(what string, p piece) string {
	name, rest := nextWord(p)
	switch {
	case name.text == "" || rest.text != "":
		r.fail(p, what, "'"+p.text+"' is not the name of a function", "write implements(F)")
	case name.text == r.b.u.source():
		r.fail(p, what, name.text+" is this kernel itself", "name the task that this is another version of")
	case !r.b.isFunction(name.text):
		r.fail(p, what, "the package has no function "+name.text, "name the task that this is another version of")
	default:
		if why, instead := r.b.another(name.text); why != "" {
			r.fail(p, what, why, instead)
			return ""
		}
		return name.text
	}
	return ""
}

// another says why the kernel cannot be another version of the function of a name.
func (b *builder) another(name string) (why, instead string) {
	task := b.u.p.types.Scope().Lookup(name).(*types.Func)
	if d := b.u.p.directives[b.u.p.funcs[task]]; !d.has("target") && !d.has("task") {
		return name + " is no kernel", "write //omp:task above it"
	}
	theirs, own := task.Signature(), b.u.busy[0].Signature()
	if n, m := theirs.Params().Len(), own.Params().Len(); n != m {
		return name + " has " + strconv.Itoa(n) + " " + diag.Plural(n, "parameter", "parameters") + ", and this kernel " + strconv.Itoa(m), "give both the same parameters"
	}
	if theirs.TypeParams().Len() != own.TypeParams().Len() {
		return name + " has other type parameters", "give both the same"
	}
	for i := range own.Params().Len() {
		if v, of := own.Params().At(i), theirs.Params().At(i); !alike(v.Type(), of.Type()) {
			short := types.RelativeTo(b.u.p.types)
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

// isFunction reports whether name is a function of the package.
func (b *builder) isFunction(name string) bool {
	_, ok := b.u.p.types.Scope().Lookup(name).(*types.Func)
	return ok
}

func (r *kernelReader) taskClause(c clause) {
	what, arg, t := "clause "+c.name.text, c.args.trim(), &r.k.Task
	switch c.name.text {
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
	case "reduction":
		r.taskReduction(what, c.args)
	default:
		for _, region := range r.regions(what, c.args) {
			t.Accesses = append(t.Accesses, ir.Access{Region: region, Mode: accessModes[c.name.text]})
		}
	}
}

var accessModes = map[string]deps.Mode{"in": deps.In, "out": deps.Out, "inout": deps.InOut,
	"concurrent": deps.Concurrent, "commutative": deps.Commutative}

func (r *kernelReader) label(what string, p piece) string {
	s, err := strconv.Unquote(p.text)
	if err != nil || p.text[0] == '\'' {
		r.fail(p, what, p.text+" is not a quoted string", `write label("name")`)
		return ""
	}
	return s
}

func (r *kernelReader) taskReduction(what string, args piece) {
	op, items := r.reduction(what, args)
	if op == ir.NoOp || op == ir.MinLoc || op == ir.MaxLoc {
		r.b.u.vague.Name = true
	}
	if op == ir.MinLoc || op == ir.MaxLoc {
		r.fail(args.trim(), what, "a task cannot combine pairs", "use min or max, or reduce inside the kernel")
		return
	}
	for _, p := range items {
		region, ok := r.region(what, p)
		if !ok {
			r.vague(p)
			continue
		}
		if why := query.Reducible(op, region.Var.Type.Elem); why != "" {
			r.fail(p, what, why+" for "+op.String()+", and "+region.Var.Name+" has elements of type "+region.Var.Type.Elem.String(),
				"use another operator")
			r.vague(p)
			continue
		}
		r.k.Task.Accesses = append(r.k.Task.Accesses, ir.Access{Region: region, Mode: deps.Reduction, Op: op})
	}
}
