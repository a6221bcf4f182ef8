package codegen_test

// The kernels in this file read variables of their package: tables, parameters that the program sets, memory.

// The directions of a D2Q9 lattice with their weights, and the opposite of each.
var (
	latticeWeight = [9]float64{4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36}
	latticeX      = [9]int{0, 1, 0, -1, 0, 1, -1, -1, 1}
	latticeY      = [9]int{0, 0, 1, 0, -1, 1, 1, -1, -1}
	opposite      = [9]int{0, 3, 4, 1, 2, 7, 8, 5, 6}
)

// A flow is what a lattice computes.
type flow struct {
	omega  float64
	nx, ny int
	force  [2]float64
}

var channel = flow{omega: 1.7, nx: 8, ny: 4, force: [2]float64{1e-3, -2e-4}}

func equilibrium(k int, rho, ux, uy float64) float64 {
	cu := float64(latticeX[k])*ux + float64(latticeY[k])*uy
	return latticeWeight[k] * rho * (1 + 3*cu + 4.5*cu*cu - 1.5*(ux*ux+uy*uy))
}

// LatticeStep collides and streams a lattice of channel.ny rows of channel.nx cells with 9 populations each; walls above and below.
//
//omp:target device(acc, smp)
//omp:task in(f, solid) inout(g)
func LatticeStep(f, g []float64, solid []uint8) {
	//omp:teams distribute parallel for collapse(2)
	for y := 0; y < channel.ny; y++ {
		for x := 0; x < channel.nx; x++ {
			at := y*channel.nx + x
			if solid[at] != 0 {
				continue
			}
			rho, ux, uy := 0.0, 0.0, 0.0
			for k := range 9 {
				v := f[9*at+k]
				rho += v
				ux += float64(latticeX[k]) * v
				uy += float64(latticeY[k]) * v
			}
			ux, uy = ux/rho+channel.force[0], uy/rho+channel.force[1]
			for k := 0; k < 9; k++ {
				out := f[9*at+k]
				out -= channel.omega * (out - equilibrium(k, rho, ux, uy))
				tx, ty := (x+latticeX[k]+channel.nx)%channel.nx, y+latticeY[k]
				if ty < 0 || ty >= channel.ny || solid[ty*channel.nx+tx] != 0 {
					g[9*at+opposite[k]] = out
				} else {
					g[9*(ty*channel.nx+tx)+k] = out
				}
			}
		}
	}
}

// Parameters of a heat equation, which a program sets before its first step.
var (
	heatDT, heatDX = 0.01, 0.5
	heatStencil    = [3][3]float32{{0.05, 0.2, 0.05}, {0.2, -1, 0.2}, {0.05, 0.2, 0.05}}
	heatPeriodic   bool
)

//omp:target device(acc, smp)
//omp:task in(a) out(b)
func HeatStep(n, m int, b, a []float32) {
	rate := float32(heatDT / (heatDX * heatDX))
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			var s float32
			for di, row := range heatStencil {
				for dj := range row {
					y, x := i+di-1, j+dj-1
					if heatPeriodic {
						y, x = (y+n)%n, (x+m)%m
					}
					if y >= 0 && y < n && x >= 0 && x < m {
						s += row[dj] * a[y*m+x]
					}
				}
			}
			b[i*m+j] = a[i*m+j] + rate*s
		}
	}
}

// heatHigh and heatLow are what Alarms looks for.
var heatHigh, heatLow = 0.9, float32(-0.9)

//omp:target device(acc, smp)
//omp:task in(a) inout(out)
func Alarms(a []float32, out []int) {
	hot, fine := out[0] > 0, out[1] > 0
	//omp:teams distribute parallel for reduction(||: hot) reduction(&&: fine)
	for i := range a {
		if float64(a[i]) > heatHigh {
			hot = true
		}
		if a[i] < heatLow {
			fine = false
		}
	}
	out[0], out[1] = 0, 0
	if hot {
		out[0] = 1
	}
	if fine {
		out[1] = 1
	}
}

// What does not go with the arguments of a launch: a large table, and memory that variables refer to.
var (
	toneCurve   [3000]uint16
	toneOffsets []int32
	toneGain    *float32
	toneLimit   uint16 = 900
)

func tone(v uint16, curve []uint16) uint16 { return curve[int(v)%len(curve)] }

//omp:target device(acc, smp)
//omp:task in(in) out(out)
func ToneMap(out, in []uint16) {
	//omp:teams distribute parallel for
	for i := range out {
		v := float32(tone(in[i], toneCurve[:])+toneCurve[i%len(toneCurve)]) * *toneGain
		out[i] = min(uint16(int32(v)+toneOffsets[i%len(toneOffsets)]), toneLimit)
	}
}
