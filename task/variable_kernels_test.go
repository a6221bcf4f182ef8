package task_test

// Kernels that read variables of this package. This file stands alone, as kernels_test.go does.

type lens struct {
	Scale float64
	Shift [2]int32
}

var (
	varStep    = 0.5
	varSmall   int8
	varFlag    bool
	varTable   = [4]float64{1, 2, 3, 4}
	varLens    lens
	varBig     [1000]float64
	varBigLens [200]lens
	varSlice   []float64
	varPointer *float64
)

func varWeight(i int) float64 { return varTable[i&3] * varLens.Scale }

//omp:target device(acc, smp)
//omp:task inout(x)
func VarSum(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += varStep*varWeight(i) + float64(varSmall) + varBig[i] + varBigLens[i%200].Scale + float64(varLens.Shift[i&1])
		if varFlag {
			x[i]++
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func VarMemory(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += varSlice[i] * *varPointer
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func VarTableOnly(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += varTable[i&3]
	}
}

//omp:target device(acc, smp) implements(VarTableOnly)
//omp:task inout(x)
func VarOther(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += varStep
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func VarLimit(x []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < int(varSmall); i++ {
		x[i] = varStep
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func VarNone(step float64, x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += step
	}
}

type varGrid struct {
	data  []float64
	width int
	lens  lens
	one   *float64
	spare []float64
}

func (g varGrid) at(i, j int) float64 { return g.data[i*g.width+j] * g.lens.Scale }

func varRow(g varGrid, i int) []float64 { return g.data[i*g.width : (i+1)*g.width] }

var varField varGrid

//omp:target device(acc, smp)
//omp:task inout(x)
func VarStruct(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		g := varField
		p := &g
		x[i] += varField.at(i/4, i%4) + float64(len(g.data)) + varRow(varField, i/4)[0] + p.data[i] + *varField.one
	}
}
