// Package printing gives kernels println and fmt.Printf on every device.
//
// The front end leaves a call of a function named by Name for each such statement. Split makes two
// kernels of one: without these calls, as programs run it, and with records of them in a buffer,
// which is one more argument. Decode turns the records into lines, ordered by task and iteration.
//
// A record is reserved by one atomic addition to element 0 of the buffer and has these words: the
// kernel, the statement and the number of words; the task; the values of the loop variables; the
// bits of the arguments. Words past the end of the buffer are counted and dropped.
package printing

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/deps"
)

const prefix = "gompss.print#"

// The names of the two parameters behind those of the Go function: the buffer, and the number of
// the task.
const (
	Buffer = "gompss.records"
	Task   = "gompss.task"
)

// First is the index of the first record: element 0 has the index behind the last one.
const First = 1

// headWords is the number of words of a record before its loop variables.
const headWords = 2

// Name returns the name of the function that statement i is a call of.
func Name(i int) string { return prefix + strconv.Itoa(i) }

// statement returns which statement a call is, -1 where it is a call of the program's.
func statement(s ir.Stmt) int {
	call, ok := s.(*ir.Call)
	if !ok || !strings.HasPrefix(call.Fn.Name, prefix) {
		return -1
	}
	i, err := strconv.Atoi(call.Fn.Name[len(prefix):])
	if err != nil {
		return -1
	}
	return i
}

// Hash returns the identifier of k in its records.
func Hash(k *ir.Kernel) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %s %s", k.Package, k.Name, k.At)
	return h.Sum32()
}

// Split takes the calls out of k.Body. k.Printing is then a kernel with the records, k without its
// own Printing. Requires: the calls stand in the body of the kernel alone.
func Split(k *ir.Kernel) {
	with := *k
	with.Prints = slices.Clone(k.Prints)
	x := &splitter{k: &with}
	x.records = x.param(Buffer, ir.SliceOf(ir.Uint64Type))
	x.task = x.param(Task, ir.Uint64Type)
	with.Body = x.list(k.Body, nil)
	if len(with.Task.Accesses) > 0 {
		whole := ir.Region{Var: x.records, Text: Buffer, At: k.At}
		with.Task.Accesses = append(slices.Clone(k.Task.Accesses), ir.Access{Region: whole, Mode: deps.InOut})
	}
	k.Body = (&splitter{k: k}).list(k.Body, nil)
	k.Printing = &with
}

type splitter struct {
	k             *ir.Kernel
	records, task *ir.Var // nil where the calls are removed
}

// A loop is one around a statement, with its number among the statements around it.
type loop struct {
	ordinal int
	of      *ir.For // nil if the statement is not a counted loop
	free    bool    // a loop without a counter: its records are ordered by their position in the buffer
}

func (x *splitter) param(name string, t *ir.Type) *ir.Var {
	v := x.local(name, t)
	v.Space = ir.Param
	x.k.Params = append(x.k.Params[:len(x.k.Params):len(x.k.Params)], v)
	x.k.Globals = append(x.k.Globals[:len(x.k.Globals):len(x.k.Globals)], ir.Global{Var: v, Type: t})
	return v
}

func (x *splitter) local(name string, t *ir.Type) *ir.Var {
	v := &ir.Var{Name: name, Type: t, Space: ir.Local, ID: x.k.NumVars, At: x.k.At}
	x.k.NumVars++
	return v
}

// list returns statements with their calls replaced; around are the loops that they stand in.
func (x *splitter) list(list []ir.Stmt, around []loop) []ir.Stmt {
	out := make([]ir.Stmt, 0, len(list))
	for n, s := range list {
		if i := statement(s); i >= 0 {
			if x.records != nil {
				out = append(out, x.record(s.(*ir.Call), i, around, n)...)
			}
			continue
		}
		out = append(out, x.stmt(s, around, n))
	}
	return out
}

func (x *splitter) stmt(s ir.Stmt, around []loop, ordinal int) ir.Stmt {
	in := func(of *ir.For) []loop {
		_, free := s.(*ir.While)
		return append(around[:len(around):len(around)], loop{ordinal, of, free})
	}
	switch s := s.(type) {
	case *ir.If:
		c := *s
		c.Then, c.Else = x.list(s.Then, in(nil)), x.list(s.Else, in(nil))
		return &c
	case *ir.Block:
		c := *s
		c.Body = x.list(s.Body, in(nil))
		return &c
	case *ir.While:
		c := *s
		c.Body, c.Post, c.Pre = x.list(s.Body, in(nil)), x.list(s.Post, in(nil)), x.list(s.Pre, in(nil))
		return &c
	case *ir.For:
		c := *s
		c.Body = x.list(s.Body, in(&c))
		return &c
	case *ir.Construct:
		c := *s
		c.Body = x.list(s.Body, in(nil))
		return &c
	}
	return s
}

// record returns the statements that reserve and write one record.
func (x *splitter) record(call *ir.Call, i int, around []loop, ordinal int) []ir.Stmt {
	site, at := &x.k.Prints[i], call.At
	place(site, around, ordinal)
	loops := site.Loops
	words := headWords + len(loops) + len(call.Args)
	size, first := x.word(uint64(words), at), x.local("gompss.at", ir.Uint64Type)
	element := func(i ir.Expr) ir.Expr { return &ir.Index{X: build.Ref(x.records, at), I: i, Checked: true, At: at} }
	head := uint64(Hash(x.k))<<32 | uint64(i)<<16 | uint64(words)
	var body []ir.Stmt
	n := uint64(0)
	put := func(e ir.Expr) {
		index := build.Binary(ir.Add, build.Ref(first, at), x.word(n, at), at)
		body = append(body, build.Assign(element(index), e, at))
		n++
	}
	put(x.word(head, at))
	put(build.Ref(x.task, at))
	for _, l := range loops {
		put(bits(build.Ref(l, at), at))
	}
	for _, a := range call.Args {
		put(bits(a, at))
	}
	length := build.Convert(ir.Uint64Type, &ir.Len{X: build.Ref(x.records, at), At: at}, at)
	fits := build.Compare(ir.Le, build.Binary(ir.Add, build.Ref(first, at), size, at), length, at)
	reserve := &ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: element(build.Int(0, at)), Value: size, Old: build.Ref(first, at), At: at}
	there := build.Compare(ir.Gt, &ir.Len{X: build.Ref(x.records, at), At: at}, build.Int(0, at), at)
	return []ir.Stmt{&ir.If{Cond: there, At: at, Then: []ir.Stmt{build.Decl(first, nil, at), reserve, &ir.If{Cond: fits, Then: body, At: at}}}}
}

func (x *splitter) word(w uint64, at ir.Pos) ir.Expr {
	return &ir.Const{T: ir.Uint64Type, Bits: w, At: at}
}

// bits returns the value of e, a scalar, as a word.
func bits(e ir.Expr, at ir.Pos) ir.Expr {
	switch t := e.Type(); {
	case t.Kind == ir.Bool:
		one, zero := &ir.Const{T: ir.Uint64Type, Bits: 1, At: at}, &ir.Const{T: ir.Uint64Type, At: at}
		return build.Choose(e, one, zero, at)
	case t.IsFloat():
		return &ir.Math{Fn: ir.Float64Bits, Args: []ir.Expr{build.Convert(ir.Float64Type, e, at)}, T: ir.Uint64Type, At: at}
	}
	return build.Convert(ir.Uint64Type, e, at)
}

// place fills in the loops around a statement and its path.
func place(site *ir.PrintSite, around []loop, ordinal int) {
	site.Loops, site.Path = nil, nil
	open := false
	for _, l := range around {
		step := ir.PrintStep{Ordinal: l.ordinal, Loop: -1}
		if l.of != nil {
			step.Loop, step.Down = len(site.Loops), l.of.Rel == ir.Gt || l.of.Rel == ir.Ge
			site.Loops = append(site.Loops, l.of.Var)
		}
		if !open {
			site.Path = append(site.Path, step)
		}
		open = open || l.free
	}
	if !open {
		site.Path = append(site.Path, ir.PrintStep{Ordinal: ordinal, Loop: -1})
	}
}
