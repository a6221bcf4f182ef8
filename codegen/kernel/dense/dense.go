// Package dense has row-major matrices with a stride between rows. A kernel takes a matrix, or a
// tile of one, by value, and its task accesses only the elements of that tile.
//
// A kernel reads and writes elements by At and Set; its clauses name Data, as in
//
//	//omp:shape m.Data [m.Rows][m.Stride]
//	//omp:task inout(m.Data[0:m.Rows][0:m.Cols])
//
// Without clauses, the compiler infers the rows and columns from the loops over Rows and Cols.
// Tasks on tiles without a common element run at the same time.
package dense

// A Matrix is a view of Rows x Cols elements: element (i, j) is Data[i*Stride+j]. Data begins at
// element (0, 0) and ends with the last element of the last row, or behind it.
type Matrix[T any] struct {
	Data               []T
	Rows, Cols, Stride int
}

// New returns a matrix of zeros. It is for programs: kernels cannot allocate.
func New[T any](rows, cols int) Matrix[T] { return Of(make([]T, rows*cols), rows, cols) }

// Of returns the matrix whose rows lie in data one directly behind the other. It shares data.
func Of[T any](data []T, rows, cols int) Matrix[T] {
	return Matrix[T]{Data: data[:rows*cols], Rows: rows, Cols: cols, Stride: cols}
}

// At returns element (i, j).
func (m Matrix[T]) At(i, j int) T { return m.Data[i*m.Stride+j] }

// Set assigns to element (i, j).
func (m Matrix[T]) Set(i, j int, v T) { m.Data[i*m.Stride+j] = v }

// Row returns row i. It shares the memory of m.
func (m Matrix[T]) Row(i int) []T { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

// Tile returns the rows i0 to i1 and columns j0 to j1 of m, i1 and j1 left out. It shares the
// memory of m. A tile without elements has no Data.
func (m Matrix[T]) Tile(i0, i1, j0, j1 int) Matrix[T] {
	t := Matrix[T]{Rows: i1 - i0, Cols: j1 - j0, Stride: m.Stride}
	if t.Rows > 0 && t.Cols > 0 {
		t.Data = m.Data[i0*m.Stride+j0 : (i1-1)*m.Stride+j1]
	}
	return t
}
