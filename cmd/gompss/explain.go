package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// emitters print one stage of a kernel; "" is the explanation.
var emitters = map[string]func(k *ir.Kernel, w, warnings io.Writer) error{
	"":       emitDecisions,
	"ir":     emitLoopIR,
	"device": emitDeviceIR,
	"cuda":   emitCUDA,
	"asm":    emitAssembly,
}

func explain(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	kernel := flags.String("kernel", "", "")
	emit := flags.String("emit", "", "")
	file, err := parseAround(flags, args)
	if err != nil {
		return err
	}
	emitter, known := emitters[*emit]
	if !known {
		return usageError("-emit %s: want ir, device, cuda or asm", *emit)
	}
	kernels, err := loadKernels(file, *kernel, stderr)
	if err != nil {
		return err
	}
	var errs []error
	for i, k := range kernels {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		errs = append(errs, emitter(k, stdout, stderr))
	}
	return errors.Join(errs...)
}

// parseAround lets flags stand behind the one file, too.
func parseAround(flags *flag.FlagSet, args []string) (file string, err error) {
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return "", usageError("%v", err)
		}
		if args = flags.Args(); len(args) > 0 {
			if file != "" {
				return "", usageError("more than one file: %s and %s", file, args[0])
			}
			file, args = args[0], args[1:]
		}
	}
	if file == "" {
		return "", usageError("no file")
	}
	return file, nil
}

// loadKernels returns the kernels of a file, or the one that is named; of a generic kernel the instance with the types in brackets, as in
// Copy[float32], or without them one that was made to check it.
func loadKernels(file, name string, warnings io.Writer) ([]*ir.Kernel, error) {
	pkg, excluded, err := readPackage(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(file)
	if slices.ContainsFunc(excluded, func(f codegen.File) bool { return f.Name == base }) {
		return nil, excludedError(file)
	}
	sources, err := codegen.SourcesFor(base, pkg)
	switch {
	case err != nil:
		return nil, inFolder(filepath.Dir(file), err)
	case sources == nil:
		return nil, fmt.Errorf("gompss: %s: no such Go file", file)
	}
	loaded, err := codegen.LoadFile(base, sources...)
	if err != nil {
		return nil, inFolder(filepath.Dir(file), err)
	}
	warnOfConstraints(warnings, sources)
	for _, w := range loaded.Warnings() {
		fmt.Fprintln(warnings, w.Error())
	}
	if generic, types, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		k, err := loaded.Instance(generic, typeArguments(types)...)
		return []*ir.Kernel{k}, err
	}
	kernels := slices.DeleteFunc(loaded.Kernels(), func(k *ir.Kernel) bool {
		return k.At.File != base || name != "" && k.Name != name
	})
	for generic, k := range loaded.Samples() {
		if k != nil && k.At.File == base && (name == "" || name == generic) {
			kernels = append(kernels, k)
		}
	}
	slices.SortFunc(kernels, func(a, b *ir.Kernel) int { return cmp.Compare(a.At.Line, b.At.Line) })
	switch {
	case len(kernels) == 0 && name != "":
		return nil, fmt.Errorf("gompss: %s: no kernel %s", file, name)
	case len(kernels) == 0:
		return nil, fmt.Errorf("gompss: %s: no kernels: put //omp:target above a function", file)
	}
	return kernels, nil
}

// typeArguments takes the list of types between brackets apart.
func typeArguments(list string) []string {
	var out []string
	from, depth := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			out = append(out, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return out
}

func lower(k *ir.Kernel, warnings io.Writer) (*codegen.Lowering, error) {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		return nil, err
	}
	for _, w := range lowered.Warnings {
		fmt.Fprintln(warnings, w.Error())
	}
	return lowered, nil
}

func emitDecisions(k *ir.Kernel, w, warnings io.Writer) error {
	lowered, err := lower(k, warnings)
	if err != nil {
		return err
	}
	if _, err = io.WriteString(w, lowered.Explain()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "  %s\n", cpuDecision(k))
	return err
}

func emitLoopIR(k *ir.Kernel, w, _ io.Writer) error {
	_, err := io.WriteString(w, k.String())
	return err
}

func emitDeviceIR(k *ir.Kernel, w, warnings io.Writer) error {
	lowered, err := lower(k, warnings)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, lowered.Program.String())
	return err
}

func emitCUDA(k *ir.Kernel, w, warnings io.Writer) error {
	lowered, err := lower(k, warnings)
	if err != nil {
		return err
	}
	source, err := cuda.Print(lowered.Program, cuda.Options{})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, source.Text)
	return err
}

func version(args []string, stdout, _ io.Writer) error {
	if len(args) > 0 {
		return usageError("it takes no arguments")
	}
	v := "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		v = b.Main.Version
	}
	_, err := fmt.Fprintln(stdout, "gompss", v)
	return err
}
