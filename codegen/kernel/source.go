package kernel

import "embed"

// SourceNames are the files with the functions and constraints of this package.
var SourceNames = []string{"constraint.go", "doc.go", "fma.go", "math.go", "thread.go"}

// Source holds them for the compiler, which checks kernels against them where there is no
// toolchain.
//
//go:embed constraint.go doc.go fma.go math.go thread.go
var Source embed.FS
