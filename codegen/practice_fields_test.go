package codegen_test

// Kernels that copy structs of which they read a part, and that load the same fields in every round of a loop.

type practiceBody struct {
	pos  [2]float64
	mass float64
	kind int32
	mark uint8
}

//omp:target device(smp)
//omp:task in(p, at) inout(d)
func PracticeCopies(p []practiceBody, at []int32, d []float64) {
	//omp:teams distribute parallel for
	for i := range d {
		q := p[at[2*i]]
		s := q.mass
		if s > 0 {
			q = p[at[2*i+1]]
		}
		s += q.mass
		r := q
		r.pos = p[i].pos
		r.kind = int32(i)
		t := practiceBody{mass: s}
		if at[i] > 5 {
			t = r
		}
		r = practiceBody{kind: r.kind + 1}
		d[i] += s*t.mass + t.pos[1] - float64(r.kind)
	}
}

// PracticeRounds loads fields of the element of its own, some of which it changes meanwhile, in loops of a few rounds and of none.
//
//omp:target device(smp)
//omp:task in(o, at) inout(p, d)
func PracticeRounds(p, o []practiceBody, at []int32, d []float64) {
	//omp:teams distribute parallel for
	for i := range d {
		s := 0.0
		for k := 0; k < 3; k++ {
			s += p[i].pos[0]*o[at[3*i+k]].mass + o[i].mass
			p[i].pos[0] = s
		}
		for k := int32(0); k < 4; k++ {
			if k > at[i]&3 {
				break
			}
			s -= o[i].pos[1] * float64(k)
			for range 2 {
				s += float64(o[i].kind) + o[int(k)].mass
			}
		}
		for k := 5; k < 5; k++ {
			s += o[i+1000000].mass
		}
		for k := 0; k < 2; k++ {
			if s > 0 && o[i].mark > 100 || k == 1 {
				s += p[i].mass
				d[i] = s
			}
		}
		d[i] += s
	}
}
