package codegen_test

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	_ "github.com/gompss/gompss/devices/all" // the plug-ins
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/internal/machine"
)

// deviceSpec names the accelerator that TestCorpusOnADevice runs on: the GPU where there is one.
func deviceSpec() string {
	if spec := os.Getenv("GOMPSS_TEST_DEVICE"); spec != "" {
		return spec
	}
	if m, err := machine.Open("cuda:1", machine.Options{}); err == nil && m.Close() == nil {
		return "cuda:1"
	}
	return "sim:1(exec=simt)"
}

// TestCorpusOnADevice runs every kernel of the corpus on an accelerator, a GPU where there is one, and compares with the
// Go function: both lowerings, sizes that fill teams and sizes that do not. Whole arguments go there and back, so that
// what a kernel leaves alone counts too.
func TestCorpusOnADevice(t *testing.T) {
	t.Parallel()
	runCorpus(t, deviceSpec(), corpus)
}

// TestCorpusOnPoCL runs a part of the corpus on PoCL, where it is there: every sixteenth kernel, and those
// that found its mistakes. GOMPSS_TEST_DEVICE='opencl:1(platform=pocl)' and TestCorpusOnADevice run all of it,
// ManyExchanges too, which takes PoCL half a minute to compile.
func TestCorpusOnPoCL(t *testing.T) {
	t.Parallel()
	const spec = "opencl:1(platform=pocl,cache=off)"
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	require.NoError(t, m.Close())
	found := map[string]bool{"Dot": true, "ArrayReduce": true, "TeamArrayReduce": true, "DistributeReduce": true, "CountDown": true, "ReturnsEarly": true,
		"TimeSteps": true, "ThreeSlices": true, "AcceptedSteps": true, "ExchangedWhere": true, "RowsOfTables": true}
	var cases []corpusCase
	for i, c := range corpus {
		if (i%16 == 0 || found[name(c.kernel)]) && (!testing.Short() || found[name(c.kernel)]) {
			cases = append(cases, c)
		}
	}
	runCorpus(t, spec, cases)
}

// notOnOpenCL are the kernels of the corpus that do not run there, with the reason.
var notOnOpenCL = map[string]string{
	"MomentTable": "it keeps a pointer in memory, where an address belongs to no memory object",
	"LayerNorm":   "the compiler of PoCL 3.1 has no end on it, and runs out of stack",
}

// runCorpus runs cases on the accelerator of a specification.
func runCorpus(t *testing.T, spec string, cases []corpusCase) {
	m, err := machine.Open(spec, machine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	d := &corpusDevice{Accelerator: m.Accelerators()[0]}
	sizes := []int{0, 1, 7, 100, 333}
	if d.Properties().Kind == "cuda" {
		sizes = append(sizes, 5000, 40000)
	}
	p, subgroups := loadCorpus(t), strings.Contains(spec, "teams=subgroups")
	for _, c := range cases {
		t.Run(name(c.kernel), func(t *testing.T) {
			if why := notOnOpenCL[name(c.kernel)]; why != "" && d.Properties().Kind == "opencl" {
				t.Skip(why)
			}
			c.exclusive(t)
			oracles := c.oracles(sizes)
			first := ""
			for _, opt := range []codegen.LowerOptions{d.lowering(), {NoShuffles: true, TeamUnit: 32}, {NoShuffles: true, KeepChecks: true}} {
				opt.Device = d.target()
				k := &devices.Kernel{Name: name(c.kernel), Program: lowerKernel(t, p, name(c.kernel), opt).Program}
				if opt.TeamUnit > 0 && (d.Properties().Kind != "opencl" || k.Program.String() == first && !subgroups) {
					continue // the first form is the one of this device, or the same
				}
				if first == "" {
					first = k.Program.String()
				}
				if opt.TeamUnit > 0 && subgroups {
					k.Portable, k.PortableUnchecked = portableForms(t, p, name(c.kernel))
				}
				require.NoError(t, d.Prepare(k))
				for _, o := range oracles {
					got := c.makeArgs(o.size)
					require.NoError(t, d.run(k, got), "size %d on %s", o.size, spec)
					// Sums grow with the size, and what rounding makes of their parts grows with its root.
					c := c
					c.tolerance *= math.Sqrt(max(1, float64(o.size)/333))
					if diff := c.differ(o.want, got); diff != "" {
						t.Fatalf("size %d, lowering %+v, on %s: %s", o.size, opt, spec, diff)
					}
				}
			}
			if d.Properties().Kind == "cuda" {
				c.sized(t, p, d, oracles)
			}
		})
	}
}

// sized runs forms of a case in which its sizes are constants.
func (c corpusCase) sized(t *testing.T, p *codegen.Package, d *corpusDevice, oracles []oracle) {
	k, err := p.Kernel(name(c.kernel))
	require.NoError(t, err)
	for _, o := range oracles {
		if o.size != 333 && o.size != 5000 {
			continue
		}
		got := c.makeArgs(o.size)
		lowered, err := codegen.LowerSized(k, sizesOf(k, got, false), codegen.LowerOptions{Device: d.target()})
		if err != nil {
			require.ErrorContains(t, err, "another order")
			continue
		}
		require.NoError(t, d.run(&devices.Kernel{Name: k.Name, Program: lowered.Program}, got))
		c.tolerance *= math.Sqrt(max(1, float64(o.size)/333))
		if diff := c.differ(o.want, got); diff != "" {
			t.Fatalf("size %d as a constant: %s", o.size, diff)
		}
	}
}

// An oracle is what the Go function makes of the arguments of one size.
type oracle struct {
	size int
	want []any
}

// longestOracle bounds the run of a Go function, as the run of the size before predicts it.
const longestOracle = 5 * time.Second

// oracles runs the Go function of a case for each size. They end where the next run would take
// longer than longestOracle, if the time grows with the square of the size.
func (c corpusCase) oracles(sizes []int) (out []oracle) {
	var last time.Duration
	for i, n := range sizes {
		if i > 0 && sizes[i-1] > 0 {
			growth := float64(n) / float64(sizes[i-1])
			if time.Duration(float64(last)*growth*growth) > longestOracle {
				break
			}
		}
		o := oracle{size: n, want: c.makeArgs(n)}
		begin := time.Now()
		c.runGo(o.want)
		last = time.Since(begin)
		out = append(out, o)
	}
	return out
}

// TestOracles_EndWhereTheNextTakesLong runs a Go function whose time grows with the square of its size.
func TestOracles_EndWhereTheNextTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := corpusCase{
			kernel: func(n int) { time.Sleep(time.Duration(n*n) * time.Microsecond) },
			args:   func(n int, _ *rand.Rand) []any { return []any{n} },
		}
		var ran []int
		for _, o := range slow.oracles([]int{0, 1, 100, 1000, 2000, 40000}) {
			ran = append(ran, o.size)
		}
		require.Equal(t, []int{0, 1, 100, 1000, 2000}, ran)
	})
}

// portableForms are those of a kernel whose arguments prove all that the host checks.
func portableForms(t *testing.T, p *codegen.Package, kernel string) (checked, unchecked func(devices.TeamForm, *target.Target) (*ir.Program, error)) {
	t.Helper()
	k, err := p.Kernel(kernel)
	require.NoError(t, err)
	of := func(k *ir.Kernel) func(devices.TeamForm, *target.Target) (*ir.Program, error) {
		return func(form devices.TeamForm, on *target.Target) (*ir.Program, error) {
			opt := codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32}
			if form == devices.SubgroupTeams {
				opt = codegen.LowerOptions{Target: "opencl", TeamUnit: 32}
			}
			opt.Device = on
			l, err := codegen.Lower(k, opt)
			if err != nil {
				return nil, err
			}
			return l.Program, nil
		}
	}
	checked = of(k)
	if free := codegen.NewContract(k).Unchecked(k); free != nil {
		unchecked = of(free)
	}
	return checked, unchecked
}

// A corpusDevice is an accelerator without a machine around it: all memory goes there and back as a whole.
type corpusDevice struct {
	devices.Accelerator
	next deps.BufferID
}

// lowering is the one for the device: OpenCL has no operations of warps.
func (d *corpusDevice) lowering() codegen.LowerOptions {
	return codegen.LowerOptions{NoShuffles: d.Properties().Kind == "opencl"}
}

// target is what the driver tells of the device, nil where code is generated without.
func (d *corpusDevice) target() *target.Target {
	if known, ok := d.Accelerator.(interface{ Target() *target.Target }); ok {
		return known.Target()
	}
	return nil
}

// run makes buffers of the slices and pointers among args, runs k on them and brings them back.
func (d *corpusDevice) run(k *devices.Kernel, args []any) error {
	var list []devices.Arg
	var buffers []devices.Buffer
	for i, a := range args {
		arg, memory := corpusArg(k.Program.Params[i].Type, a)
		if memory.Elem > 0 {
			memory.ID, arg.Buffer = d.next, d.next
			d.next++
			buffers = append(buffers, memory)
		}
		list = append(list, arg)
	}
	return devicetest.Launch(d.Accelerator, k, list, buffers)
}

// corpusArg makes the argument of a Go value, and the memory that it points at.
func corpusArg(t *ir.Type, a any) (devices.Arg, devices.Buffer) {
	v := reflect.ValueOf(a)
	arg := devices.Arg{Type: t}
	n := 1
	switch v.Kind() {
	case reflect.Slice:
		n = v.Len()
		arg.Len, arg.Cap, arg.Nil = int64(n), int64(n), v.IsNil()
	case reflect.Pointer:
	case reflect.Struct, reflect.Array, reflect.Complex64, reflect.Complex128:
		arg.Blob = make([]byte, v.Type().Size())
		reflect.NewAt(v.Type(), unsafe.Pointer(&arg.Blob[0])).Elem().Set(v)
		return arg, devices.Buffer{}
	default:
		arg.Bits = uint64(deviceArg(0, a).Bits)
		return arg, devices.Buffer{}
	}
	return arg, devices.Buffer{Host: devices.NewHostMemory(v.UnsafePointer()), Size: deps.Bytes(n) * deps.Bytes(v.Type().Elem().Size()), Elem: 1}
}
