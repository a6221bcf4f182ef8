package protocol

import "github.com/gompss/gompss/codegen/cpu/mach"

// Later selects code behind the kernel in the context of now, at a label.
func (g *Exits) Later(l mach.Label, emit func()) { g.behind(l, g.contexts(true), emit) }

// OutOfLine adds code behind the kernel and returns its label. It is selected in the context of
// now, but for variables and loops: it works on registers alone.
func (g *Exits) OutOfLine(emit func()) mach.Label {
	l := g.NewLabel()
	g.behind(l, g.contexts(false), emit)
	return l
}

func (g *Exits) behind(l mach.Label, enter func() (leave func()), emit func()) {
	g.fails = append(g.fails, fail{label: l, emit: func() {
		leave := enter()
		emit()
		leave()
	}})
}

// SelectBehind selects what stands behind the code, and what that puts there.
func (g *Exits) SelectBehind() {
	for len(g.fails) > 0 {
		f := g.fails[0]
		g.fails = g.fails[1:]
		g.Place(f.label)
		f.emit()
	}
}

// A mark is a place in the code that selection can go back to.
type mark struct{ steps, fails, sites, notes int }

func (g *Exits) Mark() mark { return mark{g.Len(), len(g.fails), len(g.Sites), len(g.Notes)} }

// BackTo takes back all that came after m.
func (g *Exits) BackTo(m mark) {
	g.Truncate(m.steps)
	g.fails, g.Sites, g.Notes = g.fails[:m.fails], g.Sites[:m.sites], g.Notes[:m.notes]
}
