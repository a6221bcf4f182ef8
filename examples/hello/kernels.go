package main

import "fmt"

// Square stores the squares of the indices from first on, and says hello.
//
//omp:target device(acc, smp)
//omp:task out(y)
func Square(first int, y []int) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = (first + i) * (first + i)
		fmt.Printf("hello from %d: %d\n", first+i, y[i])
	}
}
