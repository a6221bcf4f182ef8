// Package values evaluates expressions: numbers in every lane, conditions as masks and as jumps,
// and numbers that are the same in all lanes, in general registers.
//
// Its layers are Library for functions, Numbers, Conditions and Scalars; what one of them needs of
// those above it goes through memory.Values.
package values
