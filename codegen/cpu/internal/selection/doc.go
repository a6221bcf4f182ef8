// Package selection selects the machine instructions of one stage: statements, loops, reductions
// and atomic updates.
//
// A Selector consists of layers, each of which knows those below: reductions, loop preheaders,
// stores, statements that run lane by lane, atomics, loops, and lists of statements. Because
// statements contain statements, the interface bodies gives lower layers access to the list of
// statements.
//
// A construct that cannot be selected causes a panic, which Compile converts into an error.
package selection
