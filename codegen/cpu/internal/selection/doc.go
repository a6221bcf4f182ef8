// Package selection selects the code of one stage: statements, loops, reductions and atomic
// updates.
//
// A Selector stands on layers, each of which knows the ones below: reductions, what comes before a
// loop, stores, statements that run lane by lane, atomics, loops, and lists of statements. A
// statement holds others: the interface bodies is the one way up.
//
// What has no form refuses with a panic, which Compile turns into an error.
package selection
