package main

import "github.com/gompss/gompss/codegen/kernel"

// softening keeps the force finite, and the run comparable, when two bodies meet.
const softening = 1e-3

// Forces adds to the velocities of bodies lo to hi what all bodies pull during dt. Positions are
// only read, so the blocks of one step run together, on any mix of accelerators and CPU workers.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi]) label("forces")
func Forces(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		//omp:simd reduction(+: fx, fy, fz)
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + softening)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

// Move moves bodies lo to hi for dt.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task inout(px[lo:hi], py[lo:hi], pz[lo:hi]) in(vx[lo:hi], vy[lo:hi], vz[lo:hi]) label("move")
func Move(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		px[i] += dt * vx[i]
		py[i] += dt * vy[i]
		pz[i] += dt * vz[i]
	}
}
