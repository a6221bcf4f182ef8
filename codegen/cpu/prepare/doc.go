// Package prepare makes of a kernel's loop IR a kernel whose every statement can be selected for
// lanes.
//
// Calls are inlined, constructs opened (one team of one thread runs them, which every conforming
// kernel allows), pointers and parts of slices become numbers, local arrays and structs become
// scalars or slices of scratch memory, short constant loops are unrolled. The passes are a list, in
// prepare.go: loop IR in, loop IR out.
//
// Invariants: the kernel that is given is not changed. What comes out computes the same, with the
// same checks in the same order; an index that has lost its slice is checked by a binary operation
// [Within]. The package knows no machine. What has no form for lanes is a [*Refusal] with its
// place.
package prepare
