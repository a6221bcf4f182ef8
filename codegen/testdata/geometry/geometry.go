// Package geometry is what kernels of another package use: constants, types with methods, functions, variables.
package geometry

import (
	"math"
	"math/rand/v2"
	"os"
)

const (
	One = iota + 1
	Two
	Three // three
)

// Unit is the length of a side.
const Unit = 0.5 * Two

// Weights are read by kernels.
var Weights = [4]float64{1, 0.5, 0.25, 0.125}

// A Point is a place in the plane.
type Point struct{ X, Y float64 }

// Norm returns the distance of the origin.
func (p Point) Norm() float64 { return math.Sqrt(p.X*p.X + p.Y*p.Y) }

// Move adds d to p.
func (p *Point) Move(d Point) {
	p.X += d.X /* first */
	p.Y += d.Y
}

// A Pair is two points of a number type.
type Pair[T float32 | float64] struct{ A, B [2]T }

// Dot returns the inner product.
func (p *Pair[T]) Dot() T { return p.A[0]*p.B[0] + p.A[1]*p.B[1] }

// Weigh returns the weight of i.
func Weigh(i int) float64 { return Weights[i&Three] * weigh(i) }

func weigh(i int) float64 {
	if i > 2 {
		return half
	}
	return 1
}

const half = 0.5

// Random is no function for kernels, which do not use it.
func Random() int { return rand.IntN(len(os.Args)) }
