// Package memory knows where variables live and where the elements of slices lie: their addresses,
// the checks that these are in range, and loads and stores in all lanes.
//
// It has four layers: Variables, Addresses with their checks, Strided for elements that lie apart
// by a constant distance, and Moves for all others. An index is an expression, which package values
// evaluates: the interface Values is the one way up.
package memory
