package wrapper

import (
	"bytes"
	"fmt"
	"strings"
)

// nativeVar names the variable that holds the text of a kernel in another language.
func nativeVar(name string) string { return strings.TrimSuffix(kernelVar(name), "Kernel") + "Native" }

// taskloopName names the function that submits a kernel as several tasks; it is exported where the
// kernel is.
func taskloopName(name string) string {
	if submit := submitName(name); strings.HasPrefix(submit, "S") {
		return "Taskloop" + strings.TrimPrefix(submit, "Submit")
	}
	return "taskloop" + strings.TrimPrefix(submitName(name), "submit")
}

// writeNative writes the variant in another language; its shape follows from clause ndrange.
func (w *wrapper) writeNative(b *bytes.Buffer) {
	if w.native != nil {
		fmt.Fprintf(b, "Natives: []task.Native{{Kind: %q, Source: %s}},\n", w.native.Kind, nativeVar(w.name))
	}
}

// writeNativeText embeds the text of a variant in another language.
func (w *wrapper) writeNativeText(b *bytes.Buffer) {
	if w.native != nil {
		fmt.Fprintf(b, "//go:embed %s\nvar %s string\n\n", w.native.File, nativeVar(w.name))
	}
}

// writeTaskloop writes the function that cuts the iterations of a kernel into tasks.
func (w *wrapper) writeTaskloop(b *bytes.Buffer) {
	if w.loop == nil {
		return
	}
	rt, options := w.free("rt"), w.free("options")
	fmt.Fprintf(b, "\n// %s submits tasks that run %s, each for a part of its iterations; see task.Kernel.Taskloop.\nfunc %s(%s task.Submitter, ",
		taskloopName(w.name), w.name, taskloopName(w.name), rt)
	names := make([]string, len(w.params))
	for i, p := range w.params {
		names[i] = p.name
		fmt.Fprintf(b, "%s %s, ", p.name, p.typ)
	}
	fmt.Fprintf(b, "%s ...task.LoopOption) ([]task.Task, error) {\nreturn %s.Taskloop(%s, []any{%s}, %s...)\n}\n",
		options, kernelVar(w.name), rt, strings.Join(names, ", "), options)
}
