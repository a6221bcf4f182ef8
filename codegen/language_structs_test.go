package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

// More kernels of language_test.go: structs that hold slices and pointers.

type matrix struct {
	Data       []float64
	Rows, Cols int
}

func (m matrix) At(i, j int) float64      { return m.Data[i*m.Cols+j] }
func (m matrix) set(i, j int, v float64)  { m.Data[i*m.Cols+j] = v }
func (m *matrix) add(i, j int, v float64) { m.Data[i*m.Cols+j] += v }
func (m *matrix) row(i int) []float64     { return m.Data[i*m.Cols : (i+1)*m.Cols] }
func (m matrix) rows(lo, hi int) matrix {
	return matrix{m.Data[lo*m.Cols : hi*m.Cols], hi - lo, m.Cols}
}
func (m matrix) turned() matrix                { return matrix{Data: m.Data, Rows: m.Cols, Cols: m.Rows} }
func (m matrix) each(f func(i, j int))         { m.eachOf(func(i int) { m.inRow(i, f) }) }
func (m matrix) eachOf(f func(i int))          { forEach(m.Rows, f) }
func (m matrix) inRow(i int, f func(i, j int)) { forEach(m.Cols, func(j int) { f(i, j) }) }

func forEach(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

func growRow(m *matrix, i int, by float64) {
	r := m.row(i)
	for j := range r {
		r[j] *= by
	}
}

// pick returns one of two early.
func pick(a, b matrix, first bool) (chosen matrix, n int) {
	if first {
		return a, 1
	}
	chosen = b
	return chosen, 2
}

type layers struct {
	matrix
	Next  matrix
	W     [3]float64
	Halo  int
	Count *int64
	tags  struct{ low, high int8 }
}

type paired[T kernel.Float] struct {
	A, B []T
	By   T
}

func (p paired[T]) at(i int) T { return p.A[i]*p.By + p.B[i] }

//omp:target
//omp:let w = m.Cols
//omp:task in(m.Data[lo*w : hi*w]) inout(y[lo:hi]) priority(m.Rows+1) if(len(m.Data) >= 0)
func LangStructRows(m matrix, lo, hi int, y []float64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		s := y[i]
		for j := 0; j < m.Cols; j++ {
			s += m.At(i, j) * float64(j)
		}
		y[i] = s
	}
}

//omp:target
//omp:shape m.Data [m.Rows][m.Cols]
//omp:task inout(m.Data[1:m.Rows][0:m.Cols/2])
func LangStructShape(m matrix) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < m.Rows; i++ {
		for j := 0; j < m.Cols/2; j++ {
			m.set(i, j, m.At(i, j)*2+1)
		}
	}
}

//omp:target
//omp:task in(g.Data, g.W, g.tags) inout(g.Next.Data, *g.Count)
func LangStructNested(g layers) {
	inner := g.rows(g.Halo, g.Rows-g.Halo)
	next := g.Next
	next.Data, next.Rows = next.Data[g.Halo*next.Cols:], inner.Rows
	//omp:teams distribute parallel for
	for i := 0; i < next.Rows; i++ {
		for j := range next.Cols {
			next.set(i, j, inner.At(i, j)*g.W[(i+j)%3]+g.matrix.At(i, j)+float64(g.tags.high))
		}
	}
	total := int64(0)
	//omp:teams distribute parallel for reduction(+: total)
	for i := range g.Data {
		if g.Data[i] > 0 {
			total++
		}
	}
	*g.Count += total
}

//omp:target
func LangStructInferred(m, out matrix, w []float64) {
	for i := 1; i < m.Rows-1; i++ {
		for j := 0; j < m.Cols; j++ {
			out.Data[i*m.Cols+j] = m.At(i-1, j) + m.At(i+1, j) + w[j]
		}
	}
}

//omp:target
//omp:task in(p.A, p.B) out(y)
func LangStructGeneric[T kernel.Float](p paired[T], y []T) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = p.at(i)
	}
}

//omp:target
//omp:task inout(a.Data, b.Data)
func LangStructSwapped(a, b matrix, times int) {
	for t := 0; t < times; t++ {
		//omp:teams distribute parallel for
		for i := 0; i < a.Rows; i++ {
			for j := 0; j < a.Cols; j++ {
				a.set(i, j, b.At(i, j)+float64(t))
			}
		}
		a, b = b, a
	}
	a = matrix{Data: b.Data[:len(b.Data):len(b.Data)], Rows: a.Cols, Cols: a.Rows}
	b.Data = nil
	//omp:teams distribute parallel for
	for i := 0; i < a.Rows; i++ {
		a.Data[i*a.Cols] -= float64(a.Cols)
	}
}

//omp:target
//omp:task inout(m.Data) out(y)
func LangStructPointers(m matrix, y []float64) {
	p := &m
	//omp:teams distribute parallel for
	for i := 0; i < p.Rows; i++ {
		s := 0.0
		for j := range p.Cols {
			s += (*p).At(i, j)
			p.add(i, j, 0.5)
		}
		y[i] = s
		growRow(&m, i, 2)
		(*matrix).add(p, i, 0, s)
	}
}

//omp:target
//omp:task inout(a.Data, b.Data)
func LangStructChosen(a, b matrix, flip bool, at int) {
	to, from := a, b
	if flip {
		to, from = b, a
	}
	//omp:teams distribute parallel for
	for i := 0; i < to.Rows; i++ {
		part, n := pick(to.rows(i, i+1), from.rows(i, i+1), i%3 == at)
		for j := range part.Data {
			part.Data[j] += float64(n)
		}
	}
}

//omp:target
//omp:task in(m.Data) inout(y)
func LangStructLiterals(m matrix, y []float64) {
	k := m
	view := func(i int) matrix { return matrix{Data: m.Data[i*m.Cols:], Rows: m.Rows - i, Cols: m.Cols} }
	//omp:teams distribute parallel for firstprivate(k)
	for i := 0; i < m.Rows; i++ {
		v := view(i)
		var none matrix
		v.Rows = min(v.Rows, 2)
		s := float64(len(none.Data) + none.Rows)
		v.each(func(r, c int) { s += v.At(r, c) * float64(c+1) })
		local := [4]float64{1, 2, 3, float64(i)}
		small := matrix{Data: local[:], Rows: 2, Cols: 2}
		small.add(1, 1, 1)
		t := small.turned()
		y[i] += s + t.At(1, 1) + v.turned().At(0, 0)
		k.Rows = i
		y[i] += float64(k.Rows*k.Cols) + k.At(i, 0)
	}
}
