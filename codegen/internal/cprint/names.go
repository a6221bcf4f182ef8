// Package cprint holds the common parts of printers of C-like languages: names, types, values with
// their binding strength, operators and constants, lines, jumps, structs. A Dialect defines the
// spelling of a language; each printer defines the rules of its statements and checks.
package cprint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/ir"
)

// Names gives every variable its name in the text: the user's, with a number where it would hide a
// name that is visible. A name costs the same however deep its scope is.
type Names struct {
	Of       map[*ir.Var]string
	scopes   []scope        // innermost last; the first one holds the names of the file
	visible  map[string]int // in how many of the scopes each name is
	from     map[string]int // the first number to try for a wanted name: all before it are visible
	reserved map[string]bool
}

// A scope has names, and the numbers to try that it changed, as they were before.
type scope struct {
	names map[string]bool
	from  []wanted
}

// wanted is the first number to try for a wanted name.
type wanted struct {
	key  string
	from int
}

// NewNames begins with the names of the file. Reserved names are given to no variable.
func NewNames(file, reserved map[string]bool) Names {
	n := Names{Of: map[*ir.Var]string{}, visible: map[string]int{}, from: map[string]int{}, reserved: reserved}
	n.open(file)
	return n
}

// open makes the names those of a scope inside the innermost one.
func (n *Names) open(names map[string]bool) {
	for name := range names {
		n.visible[name]++
	}
	n.scopes = append(n.scopes, scope{names: names})
}

// Push opens a scope in the innermost one.
func (n *Names) Push() { n.open(map[string]bool{}) }

// Pop closes the innermost scope.
func (n *Names) Pop() {
	last := len(n.scopes) - 1
	for name := range n.scopes[last].names {
		n.visible[name]--
	}
	for _, w := range slices.Backward(n.scopes[last].from) {
		n.from[w.key] = w.from
	}
	n.scopes = n.scopes[:last]
}

// Innermost returns the names of the innermost scope; the caller must not change them.
func (n *Names) Innermost() map[string]bool { return n.scopes[len(n.scopes)-1].names }

// Rewind gives the innermost scope the names that it had when all its names were these.
func (n *Names) Rewind(names map[string]bool) {
	n.Pop()
	n.open(names)
}

// Fresh takes a name like the wanted one in the innermost scope, and the name with each of the
// suffixes.
func (n *Names) Fresh(want string, suffixes ...string) string {
	base := Identifier(want)
	key := strings.Join(append([]string{base}, suffixes...), " ")
	name, i := base, max(n.from[key], 1)
	for ; ; i++ {
		if i > 1 {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		if !n.Visible(name) && !slices.ContainsFunc(suffixes, func(s string) bool { return n.Visible(name + s) }) {
			break
		}
	}
	in := &n.scopes[len(n.scopes)-1]
	in.from = append(in.from, wanted{key, n.from[key]})
	n.from[key] = i + 1
	n.take(name)
	for _, s := range suffixes {
		n.take(name + s)
	}
	return name
}

// take puts a name that is not visible into the innermost scope.
func (n *Names) take(name string) {
	n.Innermost()[name] = true
	n.visible[name]++
}

// Declare names v in the innermost scope.
func (n *Names) Declare(v *ir.Var) string {
	n.Of[v] = n.Fresh(v.Name)
	return n.Of[v]
}

// Visible reports whether a name is reserved or taken in some scope.
func (n *Names) Visible(name string) bool { return n.reserved[name] || n.visible[name] > 0 }

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

// FieldNames returns the names of the fields of a struct, with a suffix where a name is reserved or
// not unique.
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

// Position returns the position of a program's kernel in its file.
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
