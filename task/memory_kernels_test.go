package task_test

// The kernels of the random programs of memory. This file stands alone, as kernels_test.go does.

// MemLens sets d from the length of s, whose elements it does not use.
//
//omp:target device(acc, smp)
//omp:task out(d)
func MemLens(k uint32, d, s []uint32) {
	//omp:teams distribute parallel for
	for i := range d {
		d[i] = uint32(i)*k + uint32(len(s))
	}
}

// MemPointer adds *p to d where when is above 0, else k.
//
//omp:target device(acc, smp)
//omp:task inout(d) in(*p)
func MemPointer(when int32, k uint32, d []uint32, p *uint32) {
	//omp:teams distribute parallel for
	for i := range d {
		if when > 0 {
			d[i] += *p
		} else {
			d[i] += k
		}
	}
}

type memView struct {
	Data  []uint32
	Shift uint32
}

// MemView changes elements of a slice in a struct.
//
//omp:target device(acc, smp)
//omp:task inout(v.Data[lo:hi])
func MemView(lo, hi int, v memView) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		v.Data[i] = v.Data[i]*3 + v.Shift
	}
}

// MemDivide fails where k is 0.
//
//omp:target device(acc, smp)
//omp:task inout(d)
func MemDivide(k uint32, d []uint32) {
	//omp:teams distribute parallel for
	for i := range d {
		d[i] = d[i] / k
	}
}
