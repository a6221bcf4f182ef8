package protocol

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Exits are the ways out of the code of a stage: errors, pauses, calls of Go, and what stands
// behind the code.
type Exits struct {
	vector.Arithmetic
	Sites             []image.Site
	Notes             []string
	fails             []fail
	YieldTo, ResumeAt mach.Label // of the yield routines; -1: none are needed
	StopAlways        bool       // at every point where the code can stop
	contexts          Contexts
}

// Contexts returns what enters the context of now later, and what comes back from there; without
// values for code that works on registers alone.
type Contexts func(values bool) (enter func() (leave func()))

// New adds exits to arithmetic. The sites are those of the stages before.
func New(a vector.Arithmetic, sites []image.Site, stopAlways bool) Exits {
	return Exits{Arithmetic: a, Sites: sites[:len(sites):len(sites)], YieldTo: -1, StopAlways: stopAlways}
}

// SetContexts says how contexts are kept, before code is selected.
func (g *Exits) SetContexts(c Contexts) { g.contexts = c }

// A fail is code out of line that reports a failed check.
type fail struct {
	label mach.Label
	emit  func()
}

// Report stores what failed and returns from the code; r holds the index.
func (g *Exits) Report(n int, r, length vcode.Reg) {
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordIndex), vcode.RegArg(r))
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordLen), vcode.RegArg(length))
	g.SetSmall(vcode.Count, int64(n))
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordStatus), vcode.RegArg(vcode.Count))
	g.Return()
}

// FailIf ends the launch where the flags say k: the second operand of e fails a check.
func (g *Exits) FailIf(k mach.Cond, check ir.CheckKind, e *ir.Binary) {
	n := g.arithSite(check, e)
	g.Jump(k, g.OutOfLine(func() {
		g.SetSmall(vcode.Count, int64(n))
		g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordStatus), vcode.RegArg(vcode.Count))
		g.Return()
	}))
}

// FailAlways ends the launch where the flags say k: the second operand of e fails a check.
func (g *Exits) FailAlways(k mach.Cond, check ir.CheckKind, e *ir.Binary) {
	n := g.arithSite(check, e)
	g.Jump(k, g.OutOfLine(func() {
		g.SetSmall(vcode.Count, int64(n))
		g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordStatus), vcode.RegArg(vcode.Count))
		g.Return()
	}))
}

// Generated code can yield: it saves every register that it may use into the block and returns to
// Go, which continues at the resume entry of the stage. That is how the collector and other
// goroutines get their turn in long loops, and how functions without vector code are called.

func (g *Exits) NewSite(s image.Site) int {
	s.At = g.At
	g.Sites = append(g.Sites, s)
	return len(g.Sites)
}

// arithSite numbers the check of the second operand of e, a divisor or a count.
func (g *Exits) arithSite(check ir.CheckKind, e *ir.Binary) int {
	n := g.NewSite(image.Site{Kind: image.SiteArith, Check: check, What: ir.Source(e.Y)})
	g.Sites[n-1].At = e.At
	return n
}

// Note records something that the author of the kernel may want to know.
func (g *Exits) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(g.Notes, text) {
		g.Notes = append(g.Notes, text)
	}
}
