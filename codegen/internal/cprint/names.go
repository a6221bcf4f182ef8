// Package cprint is what printers of languages like C share: names, types, values with their
// binding strength, operators and constants, lines, jumps, structs. A Dialect says how a language
// spells them;
// which rules its statements and checks follow is in each printer.
package cprint

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/ir"
)

// Names gives every variable its name in the text: the user's, with a number where it would hide a
// name that is visible.
type Names struct {
	Of       map[*ir.Var]string
	Scopes   []map[string]bool // innermost last; the first one holds the names of the file
	reserved map[string]bool
}

// NewNames begins with the names of the file. Reserved names are given to no variable.
func NewNames(file, reserved map[string]bool) Names {
	return Names{Of: map[*ir.Var]string{}, Scopes: []map[string]bool{file}, reserved: reserved}
}

// Push opens a scope in the innermost one.
func (n *Names) Push() { n.Scopes = append(n.Scopes, map[string]bool{}) }

// Pop closes the innermost scope.
func (n *Names) Pop() { n.Scopes = n.Scopes[:len(n.Scopes)-1] }

// Innermost returns the names of the innermost scope.
func (n *Names) Innermost() map[string]bool { return n.Scopes[len(n.Scopes)-1] }

// Fresh takes a name like the wanted one in the innermost scope.
func (n *Names) Fresh(want string) string {
	base := Identifier(want)
	name := base
	for i := 2; n.Visible(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	n.Innermost()[name] = true
	return name
}

// Declare names v in the innermost scope.
func (n *Names) Declare(v *ir.Var) string {
	n.Of[v] = n.Fresh(v.Name)
	return n.Of[v]
}

// Visible reports whether a name is reserved or taken in some scope.
func (n *Names) Visible(name string) bool {
	if n.reserved[name] {
		return true
	}
	for _, scope := range n.Scopes {
		if scope[name] {
			return true
		}
	}
	return false
}

// Identifier returns s as an identifier of C: letters outside ASCII and signs are spelled out.
func Identifier(s string) string {
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

// FieldNames returns the names of the fields of a struct: their own, with something behind those
// that are reserved or the same.
func FieldNames(t *ir.Type, reserved map[string]bool) []string {
	out, taken := make([]string, len(t.Fields)), map[string]bool{}
	for i, f := range t.Fields {
		base := fmt.Sprintf("blank%d", i)
		if f.Name != "_" && f.Name != "" {
			base = Identifier(f.Name)
		}
		if reserved[base] {
			base += "_"
		}
		out[i] = base
		for n := 2; taken[out[i]]; n++ {
			out[i] = fmt.Sprintf("%s_%d", base, n)
		}
		taken[out[i]] = true
	}
	return out
}

// Words returns the set of the words of s.
func Words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// IsNumber reports whether s is a plain decimal number.
func IsNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Spaced returns s behind a space, nothing where there is nothing.
func Spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// Position returns where the kernel of a program stands in its file.
func Position(p *ir.Program) string {
	at := ir.Pos{}
	if p.Kernel != nil {
		at = p.Kernel.At
	}
	if at == (ir.Pos{}) && len(p.Launches) > 0 {
		at = p.Launches[0].At
	}
	at.Col = 0
	return at.String()
}
