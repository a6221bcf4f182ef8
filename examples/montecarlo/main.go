// Command montecarlo prices a European call option by simulation and compares the price with the
// formula of Black and Scholes. Each path draws its numbers from its own index, so that the result
// is the same for every number of blocks and on every device, up to the order of the sum.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

const (
	spot, strike      = 100, 105
	rate, volatility  = 0.03, 0.2
	years             = 1
	seed              = 2026
	standardErrorsMax = 5
)

func main() {
	paths := flag.Int("paths", 1<<20, "number of simulated paths")
	block := flag.Int("block", 1<<17, "paths of one task")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	price, deviation, err := simulate(*devices, *paths, *block)
	if err != nil {
		log.Fatal(err)
	}
	exact := blackScholes()
	fmt.Printf("simulated %.4f, standard error %.4f; exact %.4f\n", price, deviation, exact)
	if math.Abs(price-exact) > standardErrorsMax*deviation {
		log.Fatalf("the simulated price is more than %d standard errors away", standardErrorsMax)
	}
}

// simulate returns the mean payoff and its standard error.
func simulate(devices string, paths, block int) (price, deviation float64, err error) {
	if paths < 2 || block < 1 {
		return 0, 0, fmt.Errorf("-paths %d -block %d: want at least 2 and 1", paths, block)
	}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return 0, 0, err
	}
	defer rt.Close()
	payoffs := make([]float64, paths)
	sums := make([][2]float64, (paths+block-1)/block)
	for i := range sums {
		part := payoffs[i*block : min((i+1)*block, paths)]
		if _, err := SubmitPayoffs(rt, seed, uint64(i*block), spot, strike, rate, volatility, years, part); err != nil {
			return 0, 0, err
		}
		if _, err := SubmitSum(rt, part, &sums[i]); err != nil {
			return 0, 0, err
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return 0, 0, err
	}
	var sum, squares float64
	for _, s := range sums {
		sum, squares = sum+s[0], squares+s[1]
	}
	n := float64(paths)
	price = sum / n
	return price, math.Sqrt((squares/n - price*price) / (n - 1)), nil
}

// blackScholes returns the exact price.
//
// Source: Fischer Black, Myron Scholes, The pricing of options and corporate liabilities, 1973.
func blackScholes() float64 {
	spread := volatility * math.Sqrt(years)
	d := (math.Log(1.*spot/strike) + (rate+0.5*volatility*volatility)*years) / spread
	normal := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	return spot*normal(d) - strike*math.Exp(-rate*years)*normal(d-spread)
}
