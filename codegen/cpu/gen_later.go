package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
)

// later selects code behind the kernel in the context of now, at a label.
func (g *gen) later(l mach.Label, emit func()) { g.behind(l, g.contexts(true), emit) }

// outOfLine adds code behind the kernel and returns its label. It is selected in the context of
// now, but for variables and loops: it works on registers alone.
func (g *gen) outOfLine(emit func()) mach.Label {
	l := g.NewLabel()
	g.behind(l, g.contexts(false), emit)
	return l
}

func (g *gen) behind(l mach.Label, enter func() (leave func()), emit func()) {
	g.fails = append(g.fails, fail{label: l, emit: func() {
		leave := enter()
		emit()
		leave()
	}})
}

// selectBehind selects what stands behind the code, and what that puts there.
func (g *gen) selectBehind() {
	for len(g.fails) > 0 {
		f := g.fails[0]
		g.fails = g.fails[1:]
		g.Place(f.label)
		f.emit()
	}
}

// A mark is a place in the code that selection can go back to.
type mark struct{ steps, fails, sites, notes int }

func (g *gen) mark() mark { return mark{g.Len(), len(g.fails), len(g.sites), len(g.notes)} }

// backTo takes back all that came after m.
func (g *gen) backTo(m mark) {
	g.Truncate(m.steps)
	g.fails, g.sites, g.notes = g.fails[:m.fails], g.sites[:m.sites], g.notes[:m.notes]
}
