// Package vcode has the words of virtual code: registers, operands and operations that belong to no
// processor.
//
// Selection makes instructions of them over virtual registers, codegen/cpu/mach gives these
// registers of a machine, and internal/amd64 and internal/neon say each instruction as one or a few
// of theirs. An operation of two operands overwrites the first; comparisons and sums of general
// registers leave flags that jumps and conditional moves look at.
//
// Source: the set follows x86-64 with AVX2 and AVX-512, the machine of the first back end: that is
// why there are flags, operands in memory and masks.
package vcode
