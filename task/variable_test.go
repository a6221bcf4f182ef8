package task_test

import (
	"context"
	_ "embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/task"
)

//go:embed variable_kernels_test.go
var variableSource string

var variableFile = task.SourceFile{Name: "variable_kernels_test.go", Text: variableSource}

// variablesOf are where the variables of variable_kernels_test.go are.
var variablesOf = map[string]any{"varStep": &varStep, "varSmall": &varSmall, "varFlag": &varFlag, "varTable": &varTable, "varLens": &varLens,
	"varBig": &varBig, "varBigLens": &varBigLens, "varSlice": &varSlice, "varPointer": &varPointer}

// kernelReading returns the kernel of a function that reads the variables named.
func kernelReading(t testing.TB, fn any, names ...string) *task.Kernel {
	t.Helper()
	k, err := task.NewKernel(fn, variableFile)
	require.NoError(t, err)
	require.NoError(t, k.Refused())
	for _, n := range names {
		require.NoError(t, k.BindVariable(n, variablesOf[n]))
	}
	return k
}

var readBySum = []string{"varStep", "varSmall", "varFlag", "varTable", "varLens", "varBig", "varBigLens"}

func setVariables(n float64) {
	varStep, varSmall, varFlag, varTable[1], varLens = n/2, int8(-n), n > 2, n, lens{Scale: n + 1, Shift: [2]int32{int32(n), 7}}
	for i := range varBig {
		varBig[i] = n * float64(i)
	}
	for i := range varBigLens {
		varBigLens[i].Scale = float64(i) - n
	}
	varSlice = make([]float64, 100)
	for i := range varSlice {
		varSlice[i] = float64(i)
	}
	varPointer = &varSlice[int(n)]
}

// What the program puts into package variables before it submits is what kernels read, on every device, task after task.
func TestKernelsReadPackageVariables(t *testing.T) {
	sum, memory := kernelReading(t, VarSum, readBySum...), kernelReading(t, VarMemory, "varSlice", "varPointer")
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		x, want := make([]float64, 100), make([]float64, 100)
		for n := range 4 {
			setVariables(float64(n))
			for range 3 {
				_, err := sum.Submit(rt, x)
				require.NoError(t, err)
				_, err = memory.Submit(rt, x)
				require.NoError(t, err)
				VarSum(want)
				VarMemory(want)
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, x)
		}
	})
}

// A package variable that is a struct with slices and pointers in it gives each of its fields, at submission. Issue 16, item 11.
func TestVariablesThatAreStructs_WithSlices(t *testing.T) {
	k, err := task.NewKernel(VarStruct, variableFile)
	require.NoError(t, err)
	require.NoError(t, k.Refused())
	x := make([]float64, 16)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		for name, at := range map[string]any{"varField.data": &varField.data, "varField.width": &varField.width, "varField.lens": &varField.lens, "varField.one": &varField.one, "varField.spare": &varField.spare} {
			require.NoError(t, k.BindVariable(name, at))
		}
		clear(x)
		want := make([]float64, len(x))
		for n := range 3 {
			one := float64(n) / 4
			varField = varGrid{data: make([]float64, 16+n), width: 4, lens: lens{Scale: float64(n + 2)}, one: &one}
			for i := range varField.data {
				varField.data[i] = float64(i * n)
			}
			_, err := k.Submit(rt, x)
			require.NoError(t, err)
			if raceEnabled { // the Go function runs then, and reads the variable itself
				require.NoError(t, rt.Wait(context.Background()))
			}
			VarStruct(want)
			varField = varGrid{}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
		_, err := k.Submit(rt, x)
		require.ErrorIs(t, err, task.ErrBounds)
	})
}

// Tasks that write the memory of a variable come before and after those that read it, as with any argument.
func TestVariablesThatAreMemoryAreOrdered(t *testing.T) {
	memory, none := kernelReading(t, VarMemory, "varSlice", "varPointer"), kernelReading(t, VarNone)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		setVariables(3)
		varPointer = new(float64)
		*varPointer = 2
		x := make([]float64, 100)
		for range 10 {
			_, err := none.Submit(rt, 1.0, varSlice)
			require.NoError(t, err)
			_, err = memory.Submit(rt, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, 2.0*(1+2+3+4+5+6+7+8+9+10), x[0])
		require.Equal(t, 10.0, varSlice[0])
	})
}

func TestVariablesThatAreNotBound(t *testing.T) {
	k := kernelReading(t, VarTableOnly)
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt)"})
	x := make([]float64, 4)
	_, err := k.Submit(rt, x)
	require.ErrorContains(t, err, `kernel VarTableOnly (variable_kernels_test.go:47): package variable varTable: reflection does not find it by its name: call BindVariable("varTable", &varTable)`)
	require.ErrorContains(t, k.BindVariable("varStep", &varStep), "the kernel does not read it")
	for _, bad := range []any{varTable, &varStep, nil, (*[4]float64)(nil), &varSlice, &[3]float64{}} {
		require.ErrorContains(t, k.BindVariable("varTable", bad), "is no pointer to a [4]float64")
	}
	require.NoError(t, k.BindVariable("varTable", &varTable))
	_, err = k.Submit(rt, x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
}

// What a kernel reads by name it cannot be given to write beside: on an accelerator it would read what was before.
func TestArgumentsThatAreVariables(t *testing.T) {
	k := kernelReading(t, VarTableOnly, "varTable")
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=simt)"})
	_, err := k.Submit(rt, varTable[1:])
	require.ErrorContains(t, err, "argument 1 (x): is memory of package variable varTable, which the kernel reads by its name too")
}

// Affine accesses are proved with the values of variables, too: nothing has been written when one fails.
func TestVariablesAreInTheContract(t *testing.T) {
	k := kernelReading(t, VarLimit, "varSmall", "varStep")
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		varStep, varSmall = 3, 5
		x := make([]float64, 4)
		_, err := k.Submit(rt, x)
		var outside *codegen.AccessError
		require.ErrorAs(t, err, &outside)
		require.Zero(t, x[0])
		varSmall = 4
		_, err = k.Submit(rt, x)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, []float64{3, 3, 3, 3}, x)
	})
}

func TestNilVariables(t *testing.T) {
	k := kernelReading(t, VarMemory, "varSlice", "varPointer")
	rt := open(t, task.Options{Devices: "smp:1"})
	setVariables(1)
	varPointer = nil
	_, err := k.Submit(rt, make([]float64, 3))
	require.NoError(t, err)
	err = rt.Wait(context.Background())
	require.ErrorIs(t, err, task.ErrNil)
	require.ErrorContains(t, err, "variable_kernels_test.go:41")
	setVariables(1)
	varSlice = nil
	_, err = k.Submit(rt, make([]float64, 3))
	require.Error(t, err, "index 0 of nothing")
}

func TestVersionsReadTheSameVariables(t *testing.T) {
	k, other := kernelReading(t, VarTableOnly, "varTable"), kernelReading(t, VarOther, "varStep")
	require.ErrorContains(t, k.AddVersion(other), "it reads other package variables than VarTableOnly")
}

// An iteration takes variables that have changed into account; a sequence for one accelerator says that it cannot.
func TestReplaysReadVariables(t *testing.T) {
	k := kernelReading(t, VarSum, readBySum...)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		setVariables(1)
		x, want := make([]float64, 100), make([]float64, 100)
		it, err := rt.Record(func(r *task.Recorder) error {
			_, err := k.Submit(r, x)
			return err
		})
		require.NoError(t, err)
		for n := range 5 {
			setVariables(float64(n / 2))
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			VarSum(want)
			require.Equal(t, want, x)
		}
	})
	rt := open(t, task.Options{Devices: "sim:1(exec=simt)"})
	setVariables(1)
	x, want := make([]float64, 100), make([]float64, 100)
	it, err := rt.RecordKernels("sequence", func(r *task.KernelRecorder) error { return r.Submit(k, x) })
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	VarSum(want)
	require.Equal(t, want, x)
	varStep++
	_, err = it.Replay()
	var changed *task.ChangedError
	require.ErrorAs(t, err, &changed)
	require.ErrorContains(t, err, "package variable varStep, which kernel VarSum reads, has changed since it was recorded")
}

// Package variables that stay as they are cost no allocation.
func TestVariablesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	setVariables(1)
	k, none := kernelReading(t, VarSum, readBySum...), kernelReading(t, VarNone)
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]float64, 64)
	count := func(k *task.Kernel, args ...any) float64 {
		run := func() {
			for range 16 {
				if _, err := k.Submit(rt, args...); err != nil {
					t.Fatal(err)
				}
			}
			if err := rt.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			run()
		}
		return testing.AllocsPerRun(100, run)
	}
	require.LessOrEqual(t, count(k, x), count(none, 1.0, x)+1)
}

// Issue 16, item 7: what a kernel reads of package variables are the values at submission, whatever the program does to the
// variables until the task runs, on every device and with every variant; CPU workers read the variables when they ran.
func TestPackageVariables_AreThoseAtSubmission(t *testing.T) {
	kernels := map[string]*task.Kernel{"table": kernelReading(t, VarTableOnly, "varTable"), "scalar": kernelReading(t, VarLimit, "varSmall", "varStep"),
		"memory": kernelReading(t, VarMemory, "varSlice", "varPointer")}
	for _, spec := range []string{"smp:1", "smp:2", "sim:1(exec=cpu)", "sim:1(exec=simt)"} {
		for _, vector := range []string{task.VectorAuto, task.VectorOff} {
			t.Run(spec+" "+vector, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec, Vector: vector})
				for name, k := range kernels {
					setVariables(2)
					varTable, varStep, varSmall = [4]float64{1, 2, 3, 4}, 7, 4
					factors, factor := varSlice, *varPointer
					x := make([]float64, 4)
					release := func() {}
					if spec[:3] == "smp" {
						gate := make(chan struct{})
						_, err := rt.Go(func() error { <-gate; return nil }, task.InOut(x))
						require.NoError(t, err)
						release = func() { close(gate) }
					}
					_, err := k.Submit(rt, x)
					require.NoError(t, err)
					varTable, varStep, varSmall = [4]float64{}, 100, 1
					varSlice, varPointer = make([]float64, 3), new(float64)
					release()
					require.NoError(t, rt.Wait(context.Background()))
					switch name {
					case "table":
						require.Equal(t, []float64{1, 2, 3, 4}, x)
					case "scalar":
						require.Equal(t, []float64{7, 7, 7, 7}, x)
					default:
						for i := range x {
							require.Equal(t, factors[i]*factor, x[i])
						}
					}
				}
			})
		}
	}
}

// Replays take the values of their submission.
func TestPackageVariables_OfReplays(t *testing.T) {
	k := kernelReading(t, VarTableOnly, "varTable")
	for _, vector := range []string{task.VectorAuto, task.VectorOff} {
		rt := open(t, task.Options{Devices: "smp:2", Vector: vector})
		varTable = [4]float64{1, 2, 3, 4}
		x := make([]float64, 4)
		it, err := rt.Record(func(r *task.Recorder) error {
			_, err := k.Submit(r, x)
			return err
		})
		require.NoError(t, err)
		for i := range 4 {
			n := float64(i)
			gate := make(chan struct{})
			_, err := rt.Go(func() error { <-gate; clear(x); return nil }, task.InOut(x))
			require.NoError(t, err)
			varTable = [4]float64{n, n, n, n}
			_, err = it.Replay()
			require.NoError(t, err)
			varTable = [4]float64{-1}
			close(gate)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, []float64{n, n, n, n}, x)
		}
	}
}

// Where the Go function has to run and its variable is changed meanwhile the task fails: it is never wrong in silence.
func TestPackageVariables_ChangedWhileTheGoFunctionRuns(t *testing.T) {
	k := task.MustKernel(task.KernelSpec{Name: "VarTableOnly", Files: []task.SourceFile{variableFile},
		Go:        func(*task.Args) { varTable[2]++ },
		Variables: []task.Variable{{Name: "varTable", Pointer: &varTable}}})
	rt := open(t, task.Options{Devices: "smp:1", Vector: task.VectorOff})
	x := make([]float64, 4)
	_, err := k.Submit(rt, x)
	require.NoError(t, err)
	err = rt.Wait(context.Background())
	var changed *task.VariableError
	require.ErrorAs(t, err, &changed)
	require.True(t, changed.Running)
	require.ErrorContains(t, err, "kernel VarTableOnly (variable_kernels_test.go:47): package variable varTable was changed while it ran, and its Go function reads the variable itself (cpu: vector code is switched off")
}
