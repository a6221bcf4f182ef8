package cuda

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/ir"
)

// names gives every variable its C++ name: the user's, with a number where it would hide a name that is visible.
type names struct {
	of     map[*ir.Var]string
	scopes []map[string]bool // innermost last; the first one holds the names of the file
}

func newNames(file map[string]bool) names {
	return names{of: map[*ir.Var]string{}, scopes: []map[string]bool{file}}
}

func (n *names) push() { n.scopes = append(n.scopes, map[string]bool{}) }
func (n *names) pop()  { n.scopes = n.scopes[:len(n.scopes)-1] }

// declare names v in the innermost scope.
func (n *names) declare(v *ir.Var) string {
	n.of[v] = n.fresh(v.Name)
	return n.of[v]
}

// fresh takes a name like the wanted one in the innermost scope.
func (n *names) fresh(want string) string {
	base := identifier(want)
	name := base
	for i := 2; n.visible(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	n.scopes[len(n.scopes)-1][name] = true
	return name
}

func (n *names) visible(name string) bool {
	if reserved[name] {
		return true
	}
	for _, scope := range n.scopes {
		if scope[name] {
			return true
		}
	}
	return false
}

// identifier returns s as a C++ identifier: letters outside ASCII and signs are spelled out.
func identifier(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_' || r < 128 && unicode.IsLetter(r) || i > 0 && r < 128 && unicode.IsDigit(r):
			b.WriteRune(r)
		case r < 128:
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	if out := strings.TrimRight(b.String(), "_"); out != "" && out[0] != '_' {
		return out
	}
	return "v" + b.String()
}
