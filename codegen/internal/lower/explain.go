package lower

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// Explain returns the decisions as text, one a line in source order, after the kernel's name and
// its launches.
func (r *Result) Explain() string {
	var b strings.Builder
	n := len(r.Program.Launches)
	fmt.Fprintf(&b, "kernel %s: %d %s", r.Program.Name, n, diag.Plural(n, "launch", "launches"))
	if s := len(r.Program.Scratch); s > 0 {
		fmt.Fprintf(&b, ", %d %s", s, diag.Plural(s, "piece of scratch memory", "pieces of scratch memory"))
	}
	b.WriteString("\n")
	for _, d := range r.Decisions {
		b.WriteString("  " + d.String() + "\n")
	}
	return b.String()
}

// because names the directive that asked for something, or the compiler's own choice.
func because(d *ir.Directive) string {
	if d.Text == "" {
		return "the compiler proved its iterations independent"
	}
	return "\"" + d.Text + "\" says so"
}
