package main

import (
	"math"

	"github.com/gompss/gompss/codegen/kernel/random"
)

// Payoffs stores in out[i] the discounted payoff of a European call option on path first+i: the
// share moves by geometric Brownian motion from spot to the time years.
//
//omp:target device(acc, smp)
//omp:task out(out)
func Payoffs(seed, first uint64, spot, strike, rate, volatility, years float64, out []float64) {
	drift, spread := (rate-0.5*volatility*volatility)*years, volatility*math.Sqrt(years)
	discount := math.Exp(-rate * years)
	//omp:teams distribute parallel for
	for i := range out {
		z, _ := random.Normal(seed, first+uint64(i))
		out[i] = discount * max(0, spot*math.Exp(drift+spread*z)-strike)
	}
}

// Sum adds the elements of x and of their squares to sums.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(sums)
func Sum(x []float64, sums *[2]float64) {
	sum, squares := 0.0, 0.0
	//omp:teams distribute parallel for reduction(+: sum, squares)
	for i := range x {
		sum += x[i]
		squares += x[i] * x[i]
	}
	sums[0] += sum
	sums[1] += squares
}
