// Package x86 is an assembler for the amd64 instructions that vector code of codegen/cpu consists
// of: general registers, AVX2 and AVX-512 with their masks.
//
// An Inst is an operation with its operands; Append encodes it. The operations are the rows of one
// table of forms (table.go), each of which a test compares with what the Go assembler encodes, for
// every register and many immediates. A register may be virtual until codegen/cpu has allocated it;
// a virtual one cannot be encoded.
package x86
