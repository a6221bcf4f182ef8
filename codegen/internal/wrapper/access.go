package wrapper

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// ExplainAccesses returns the accesses of tasks of k as lines of text: declared ones in one line,
// inferred ones with the reason where one is all of its parameter.
func ExplainAccesses(k *ir.Kernel) []string {
	if !k.Task.Present {
		return nil
	}
	var out []string
	for _, a := range k.Task.Accesses {
		text := fmt.Sprintf("%v(%s)", a.Mode, a.Region.Text)
		switch {
		case !k.Task.Inferred:
			out = append(out, text)
			continue
		case a.Why != "" && a.Region.When != nil:
			text += " -> inferred, " + a.Why
		case a.Why != "":
			text += " -> inferred, all of it: " + a.Why
		default:
			text += " -> inferred"
		}
		out = append(out, "access "+text)
	}
	if !k.Task.Inferred && len(out) > 0 {
		return []string{"accesses " + strings.Join(out, ", ") + " -> declared"}
	}
	return out
}
