package task_test

// The kernels of this file make one mistake each, in one iteration, on the line that is marked with the name of the kernel.

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongRead(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[at[i]] // WrongRead
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongWrite(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(at); i++ {
		x[at[i]+i] = y[i] // WrongWrite
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongOfTwo(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[i] +
			y[at[i]] // WrongOfTwo
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongEither(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(at); i++ {
		x[i+at[0]-1] = y[at[i]] * (i + at[i]) // WrongEither
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongHelper(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = pickedFrom(y, at[i])
	}
}

func pickedFrom(list []int, k int) int {
	return list[k] // WrongHelper
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongArray(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		few := [4]int{1, 2, 3, 4}
		x[i] = few[at[i]] + y[0] // WrongArray
	}
}

type wrongRow struct {
	cells [3]int
	_     int
}

//omp:target device(acc, smp)
//omp:task in(at, rows) inout(x)
func WrongNested(x []int, rows []wrongRow, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = rows[i].cells[at[i]] // WrongNested
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongSum(x, y, at []int) {
	sum := 0
	//omp:teams distribute parallel for reduction(+:sum)
	for i := 0; i < len(at); i++ {
		sum += y[at[i]] // WrongSum
	}
	x[0] = sum
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongUnsigned(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[uint64(at[i])] // WrongUnsigned
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongPart(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = len(y[:at[i]]) // WrongPart
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongFrom(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = len(y[at[i]:2]) // WrongFrom
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongQuotient(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = 100 +
			y[0]/at[i] // WrongQuotient
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongRest(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = restOf(int32(y[0]), int32(at[i]))
	}
}

func restOf(a, b int32) int {
	a %= b // WrongRest
	return int(a)
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongShift(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[0]<<at[i] + 1 // WrongShift
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongEnd(x, y, at []int, n, m int) {
	//omp:teams distribute parallel for
	for i := 0; i < n/m; i++ { // WrongEnd
		x[at[i]] = y[0]
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongInOrder(x, y, at []int) {
	for i := 0; i < len(x); i++ {
		x[i] += y[at[i]] // WrongInOrder
	}
}

//omp:target device(acc, smp)
//omp:task in(at) inout(*p) inout(x)
func WrongPointer(p *int, x, at []int) {
	if p != nil || at[0] == 5 {
		*p = 3 // WrongPointer
	}
	x[0] = 1
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongNil(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		var none []int
		if at[i] != 1 {
			x[i] = none[at[i]] // WrongNil
		}
		x[i] += y[0]
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongCopy(x, y, at []int) {
	for i := 0; i < len(x); i++ {
		copy(x[:2], y[at[i]:]) // WrongCopy
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongConversion(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		f := float32(at[i])
		x[i] = y[int16(f)] // WrongConversion
	}
}

//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func WrongAssign(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[0]
		x[i] %= at[i] // WrongAssign
	}
}

type wrongLists struct {
	n    int
	list []int
}

//omp:target device(acc, smp)
//omp:task in(at, p.list) inout(x)
func WrongField(x []int, p wrongLists, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = p.list[at[i]] + p.n // WrongField
	}
}
