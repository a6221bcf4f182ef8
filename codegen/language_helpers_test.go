package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

// What the kernels of language_kernels_test.go call.

type vector struct{ x, y float32 }

type body struct {
	pos [2]float32
	vel vector
	tag int8
	id  int32
}

func divmod(a, b int) (q, r int) {
	q = a / b
	r = a - q*b
	return
}

func three(a, b int) (int, int, int) { return min(a, b), a + b, max(a, b) }

func chain(n int) int { return link(n+1) * 2 }

func link(n int) int {
	if n > 2 {
		return end(n - 1)
	}
	return end(n)
}

func end(n int) int { return n*n - 1 }

func sumOf(list ...int) (sum int) {
	for _, v := range list {
		sum += v
	}
	return sum
}

func turned(v vector) vector { return vector{x: -v.y, y: v.x} }

func push(b *body) {
	v := &b.vel
	v.x, v.y = v.y, v.x
	b.pos = [2]float32{b.pos[1], b.pos[0] + float32(b.tag)}
}

func insertionSort(x []int) {
	for i := 1; i < len(x); i++ {
		for j := i; j > 0 && x[j-1] > x[j]; j-- {
			x[j-1], x[j] = x[j], x[j-1]
		}
	}
}

func copyInto(to, from []int) {
	for i := range to {
		to[i] = from[i] * 2
	}
}

func clamp[T kernel.Float | kernel.Integer](v, lo, hi T) T {
	if v < lo {
		return lo
	}
	return min(v, hi)
}

func forAll(from, to int, body func(i int)) {
	//omp:teams distribute parallel for
	for i := from; i < to; i++ {
		body(i)
	}
}

func mapReduce(n int, at func(int) int, combine func(a, b int) int) int {
	out := at(0)
	for j := 1; j < n; j++ {
		out = combine(out, at(j))
	}
	return out
}

func apply[T, U any](f func(T) U, v T) U { return f(v) }

func scaleRow(row []int, by int) {
	//omp:for
	for i := range row {
		row[i] *= by
	}
}

func firstOf(row []int) {
	//omp:single
	{
		if len(row) > 1 {
			row[0] = row[len(row)-1]
		}
	}
}

func swapRows(rows *[3][4]int32, a, b int) {
	rows[a], rows[b] = rows[b], rows[a]
}
