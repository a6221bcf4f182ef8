package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// The words of directives, as in DIALECT.md section 3.
var (
	functionWords  = []string{"target", "task", "shape", "let"}
	statementWords = []string{"teams", "distribute", "parallel", "for", "simd", "loop", "atomic", "scan", "single", "masked"}
	directiveWords = slices.Concat(functionWords, statementWords)
)

// combined lists the forms in which statement words may stand together.
var combined = []string{
	"teams", "teams distribute", "teams distribute simd", "teams distribute parallel for",
	"teams distribute parallel for simd", "teams loop", "teams parallel", "distribute", "distribute simd",
	"distribute parallel for", "distribute parallel for simd", "parallel", "parallel for", "parallel for simd",
	"parallel loop", "for", "for simd", "simd", "loop", "atomic", "scan", "single", "masked",
}

// clausesOf lists the clauses that each directive word takes; a combined form takes those of all
// its words.
var clausesOf = map[string][]string{
	"target": {"device", "resources", "copy_in", "copy_out", "copy_inout", "copy_deps", "no_copy_deps", "implements",
		"fastmath", "contract", "check", "overlap", "native", "ndrange", "shmem"},
	"task": {"in", "out", "inout", "concurrent", "commutative", "reduction", "priority", "if", "final", "untied",
		"label", "taskloop", "grainsize"},
	"teams": {"num_teams", "thread_limit", "private", "firstprivate", "shared", "reduction", "mode"},
	"distribute": {"collapse", "dist_schedule", "private", "firstprivate", "lastprivate", "dist_private",
		"dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate"},
	"parallel": {"num_threads", "if", "private", "firstprivate", "shared", "reduction"},
	"for":      {"collapse", "schedule", "private", "firstprivate", "lastprivate", "reduction", "nowait"},
	"simd":     {"reduction", "private", "simdlen", "safelen"},
	"loop":     {"bind", "collapse", "reduction", "private", "lastprivate"},
	"atomic":   {"read", "write", "update", "capture", "compare"},
	"scan":     {"inclusive", "exclusive"},
	"single":   {"nowait"},
	"masked":   {},
}

// noArguments are the clauses without arguments; every other one needs some.
var noArguments = []string{"copy_deps", "no_copy_deps", "fastmath", "contract", "untied", "nowait", "read", "write", "update", "capture",
	"compare"}

// repeatable are the clauses that add up; every other one stands at most once.
var repeatable = []string{"device", "resources", "copy_in", "copy_out", "copy_inout", "in", "out", "inout",
	"concurrent", "commutative", "reduction", "private", "firstprivate", "lastprivate", "shared", "dist_private",
	"dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate"}

// allowed returns the clauses that the words together take.
func allowed(words []string) []string {
	var out []string
	for _, w := range words {
		for _, c := range clausesOf[w] {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	if slices.Contains(words, "parallel") && slices.Contains(words, "for") {
		out = append(out, "nested")
	}
	return out
}

// combination reports words of statement directives that do not stand together.
func (d *Directive) combination() []lineError {
	words := d.Words()
	if slices.Contains(combined, strings.Join(words, " ")) {
		return nil
	}
	return []lineError{d.badCombination(words)}
}

// check finds what is wrong with the clauses of d as text - unknown and misplaced ones, missing,
// needless and repeated arguments, contradictions - and takes those clauses out. What is left for
// the builder is what the arguments mean.
func (d *Directive) check() []lineError {
	if !d.onFunc() {
		return d.checkLines(d.Lines, d.Words())
	}
	var errs []lineError
	for _, name := range []string{"target", "task"} {
		lines := d.Named(name)
		for _, l := range lines {
			for _, w := range l.words[1:] {
				errs = append(errs, lineError{w.At, "directive " + name, w.Text + " does not combine with it",
					"write //omp:" + w.Text + " above the statement that it governs"})
			}
			l.words = l.words[:1]
		}
		errs = append(errs, d.checkLines(lines, []string{name})...)
	}
	return errs
}

// checkLines checks the clauses of lines, which make one directive of the words.
func (d *Directive) checkLines(lines []*Line, words []string) []lineError {
	var errs []lineError
	name, may, seen := strings.Join(words, " "), allowed(words), map[string]bool{}
	for _, l := range lines {
		l.Clauses = slices.DeleteFunc(l.Clauses, func(c Clause) bool {
			err := c.check(name, may, seen[c.Name.Text])
			if err != nil {
				errs = append(errs, *err)
			}
			seen[c.Name.Text] = true
			return err != nil
		})
	}
	return append(errs, conflicts(words, lines)...)
}

func (d *Directive) badCombination(words []string) lineError {
	text := strings.Join(words, " ")
	sorted := slices.Clone(words)
	slices.SortFunc(sorted, func(a, b string) int {
		return slices.Index(statementWords, a) - slices.Index(statementWords, b)
	})
	instead := "write one of the combined forms, such as teams distribute parallel for"
	if s := strings.Join(sorted, " "); slices.Contains(combined, s) {
		instead = "write //omp:" + s
	} else if slices.Contains(words, "atomic") {
		instead = "put the statement in a body { } of its own"
	} else if near := Nearest(text, combined); near != "" {
		instead = "write //omp:" + near
	}
	return lineError{d.At, "directive " + text, "these words do not combine", instead}
}

func (c *Clause) check(directive string, may []string, again bool) *lineError {
	n := c.Name.Text
	what := "clause " + n
	needsArgs := !slices.Contains(noArguments, n)
	switch {
	case !slices.Contains(may, n):
		return c.unknown(directive, may)
	case needsArgs && (!c.hasArgs || c.Args.Trim().Text == ""):
		return &lineError{c.Name.At, what, "its arguments are missing", "write " + clauseForm(n)}
	case !needsArgs && c.hasArgs:
		return &lineError{c.Args.At, what, "it takes no arguments", "write " + n}
	case again && !slices.Contains(repeatable, n):
		return &lineError{c.Name.At, what, "it stands twice on one directive", "keep one of them"}
	}
	return nil
}

func (c *Clause) unknown(directive string, may []string) *lineError {
	n := c.Name.Text
	var takers []string
	for _, w := range directiveWords {
		if slices.Contains(clausesOf[w], n) {
			takers = append(takers, w)
		}
	}
	near := Nearest(n, may)
	if instead, ok := foreignClauses[n]; ok {
		return &lineError{c.Name.At, "clause " + n, "there is no such clause", instead}
	}
	switch {
	case len(takers) > 0:
		instead := "put it on " + OrList(takers)
		if slices.Contains(functionWords, directive) && !slices.ContainsFunc(takers, func(w string) bool { return slices.Contains(functionWords, w) }) {
			instead += ", or write one of " + strings.Join(may, ", ")
		}
		return &lineError{c.Name.At, "clause " + n, fmt.Sprintf("directive %s does not take it", directive), instead}
	case n == "nested":
		return &lineError{c.Name.At, "clause nested", fmt.Sprintf("directive %s does not take it", directive),
			"put it on parallel for"}
	case near != "":
		return &lineError{c.Name.At, "clause " + n, "there is no such clause", "write " + near}
	case len(may) == 0:
		return &lineError{c.Name.At, "clause " + n, fmt.Sprintf("directive %s takes no clauses", directive), "leave it out"}
	}
	return &lineError{c.Name.At, "clause " + n, "there is no such clause", "write one of " + strings.Join(may, ", ")}
}

// foreignClauses says what to write for the clauses of OpenMP and OmpSs that this dialect has not.
var foreignClauses = map[string]string{
	"map": "write in, out and inout in //omp:task: the runtime copies what they name", "depend": "write in, out and inout in //omp:task",
	"default": "leave it out: a variable from outside is shared, one from inside has a copy for each team or thread",
	"ordered": "take the parallel directive off the loop", "linear": "compute it from the loop variable", "copyin": "write firstprivate",
	"copyprivate": "declare the variable in front of single", "proc_bind": "leave it out", "aligned": "leave it out",
	"grainsize": "write schedule(static, chunk)", "is_device_ptr": "leave it out", "use_device_ptr": "leave it out", "weak": "leave it out",
	"mergeable": "leave it out", "onto": "leave it out",
}

// exclusive lists pairs of clauses of which the second contradicts the first.
var exclusive = [][2]string{{"copy_deps", "no_copy_deps"}, {"fastmath", "contract"}, {"read", "write"}, {"read", "update"}, {"read", "capture"},
	{"read", "compare"}, {"write", "update"}, {"write", "compare"}, {"update", "compare"}, {"inclusive", "exclusive"}}

// conflicts finds clauses that exclude one another and takes the second ones out.
func conflicts(words []string, lines []*Line) []lineError {
	var errs []lineError
	all := (&Directive{Lines: lines}).Clauses()
	drop := map[string]bool{}
	for _, p := range exclusive {
		first, second := Find(all, p[0]), Find(all, p[1])
		if first != nil && second != nil && !drop[p[1]] {
			errs = append(errs, lineError{second.Name.At, "clause " + p[1], "it contradicts clause " + p[0], "keep one of them"})
			drop[p[1]] = true
		}
	}
	if c := Find(all, "nowait"); c != nil && slices.Contains(words, "parallel") {
		errs = append(errs, lineError{c.Name.At, "clause nowait", "the end of parallel is a barrier that cannot be left out",
			"write parallel and for as two directives, and nowait on the for"})
		drop["nowait"] = true
	}
	for _, l := range lines {
		l.Clauses = slices.DeleteFunc(l.Clauses, func(c Clause) bool { return drop[c.Name.Text] })
	}
	return errs
}

func Find(list []Clause, name string) *Clause {
	for i := range list {
		if list[i].Name.Text == name {
			return &list[i]
		}
	}
	return nil
}

// clauseForms shows how the clauses with arguments are written.
var clauseForms = map[string]string{
	"device": "device(acc, smp)", "resources": "resources(kind: tokens)", "implements": "implements(F)",
	"native": `native("file.cu")`, "ndrange": "ndrange(1, n, 256)", "shmem": "shmem(bytes)", "taskloop": "taskloop(lo:hi)",
	"check": "check(bounds) or check(none)", "label": `label("name")`, "reduction": "reduction(op: variables)",
	"mode": "mode(spmd)", "bind": "bind(teams)", "schedule": "schedule(kind, chunk)", "nested": "nested(auto)",
	"dist_schedule": "dist_schedule(static, chunk)", "collapse": "collapse(2)", "simdlen": "simdlen(8)",
	"safelen": "safelen(8)", "private": "private(x)", "firstprivate": "firstprivate(x)",
	"lastprivate": "lastprivate(x)", "shared": "shared(x)", "inclusive": "inclusive(s)", "exclusive": "exclusive(s)",
}

func clauseForm(name string) string {
	if form, ok := clauseForms[name]; ok {
		return form
	}
	switch {
	case strings.HasPrefix(name, "dist_"):
		return name + "([n]x)"
	case slices.Contains(repeatable, name):
		return name + "(regions)"
	}
	return name + "(expression)"
}

func OrList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
