package codegen_test

import _ "embed"

//go:embed practice_kernels_test.go
var practiceSource string

//go:embed practice_bits_test.go
var practiceBits string

//go:embed practice_atomics_test.go
var practiceAtomics string

//go:embed practice_fields_test.go
var practiceFields string

//go:embed apart_kernels_test.go
var apartSource string

//go:embed border_kernels_test.go
var borderSource string
