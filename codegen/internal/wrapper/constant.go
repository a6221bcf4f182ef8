package wrapper

import (
	"bytes"
	"fmt"
	"go/constant"
	"strconv"
)

// A constantCode is a constant of another package that a kernel uses, and the comparison with the
// value that the kernel was made with.
type constantCode struct{ name, same string }

// constants returns those of a kernel. What a value of the text that goes with a wrapper has become
// in its package is known to Go's compiler alone.
func (g *generator) constants(kernel string) (out []constantCode) {
	for _, c := range g.pkg.Constants(kernel) {
		name := g.importPackage(c.Pkg()) + "." + c.Name()
		switch v := c.Val(); v.Kind() {
		case constant.Bool, constant.Int, constant.String:
			out = append(out, constantCode{name, name + " == " + v.ExactString()})
		case constant.Float:
			f, _ := constant.Float64Val(v)
			out = append(out, constantCode{name, fmt.Sprintf("float64(%s) == %s", name, strconv.FormatFloat(f, 'x', -1, 64))})
		}
	}
	return out
}

// writeConstants writes the comparisons.
func (w *wrapper) writeConstants(b *bytes.Buffer) {
	if len(w.constants) == 0 {
		return
	}
	b.WriteString("Constants: []task.Constant{")
	for i, c := range w.constants {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "{Name: %q, Same: %s}", c.name, c.same)
	}
	b.WriteString("},\n")
}
