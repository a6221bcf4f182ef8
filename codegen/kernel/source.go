package kernel

import "embed"

// SourceNames are the files with the functions and constraints of this package.
var SourceNames = []string{"constraint.go", "doc.go", "fma.go", "math.go", "thread.go"}

// Source holds them for the compiler, which checks kernels against them where there is no
// toolchain.
//
//go:embed constraint.go doc.go fma.go math.go thread.go
//go:embed random/random.go ordered/ordered.go dense/dense.go cmplx/cmplx.go
var Source embed.FS

// Packages has the files, in Source, of the packages below this one, by the name of the package.
// Their functions are ordinary Go: the compiler compiles them with the kernels that call them.
var Packages = map[string][]string{
	"cmplx":   {"cmplx/cmplx.go"},
	"dense":   {"dense/dense.go"},
	"ordered": {"ordered/ordered.go"},
	"random":  {"random/random.go"},
}
