package ir

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An Env has the values of the variables and queries in a host expression. Each method reports
// false for an unknown value.
type Env interface {
	// Scalar returns the value of a scalar variable.
	Scalar(v *Var) (Bits, bool)
	// Bytes returns the memory of a struct or array that is passed by value, little-endian.
	Bytes(v *Var) ([]byte, bool)
	// Slice returns the length and capacity of a slice variable, in elements.
	Slice(v *Var) (length, capacity int64, ok bool)
	// Query returns a coordinate of the grid.
	Query(q QueryKind) (int64, bool)
}

// A Value is the value of one variable: Bits of a scalar, Len and Cap of a slice, or Bytes of a
// struct or array.
type Value struct {
	Bits     Bits
	Len, Cap int64
	Bytes    []byte
}

// Values is an Env of variables alone; one that answers queries embeds it.
type Values map[*Var]Value

// Scalar implements Env.
func (m Values) Scalar(v *Var) (Bits, bool) {
	x, ok := m[v]
	return x.Bits, ok
}

// Bytes implements Env.
func (m Values) Bytes(v *Var) ([]byte, bool) {
	x, ok := m[v]
	return x.Bytes, ok
}

// Slice implements Env.
func (m Values) Slice(v *Var) (length, capacity int64, ok bool) {
	x, ok := m[v]
	return x.Len, x.Cap, ok
}

// Query implements Env: it knows none.
func (m Values) Query(QueryKind) (int64, bool) { return 0, false }

// Further errors of Eval, besides ErrDivide and ErrShift.
var (
	ErrBounds  = errors.New("out of range")
	ErrUnknown = errors.New("not known on the host")
	// ErrNil and ErrStep are further errors of kernels on accelerators, where Go panics or does not
	// terminate.
	ErrNil  = errors.New("nil pointer dereference")
	ErrStep = errors.New("loop step of zero or of the wrong sign")
)

// An EvalError is a failed evaluation. Err is ErrDivide, ErrShift, ErrBounds or ErrUnknown; What is
// the text of the expression or of its operands.
type EvalError struct {
	At   Pos
	What string
	Err  error

	check *CheckError // the failed check, if Go panics at this operation
}

func (e *EvalError) Error() string { return fmt.Sprintf("%s: %s: %v", e.At, e.What, e.Err) }

// Unwrap returns the *CheckError if Go panics at this operation, else the sentinel.
func (e *EvalError) Unwrap() error {
	if e.check != nil {
		return e.check
	}
	return e.Err
}

// Eval computes a scalar expression on the host with Go's semantics.
//
// The operands of e are constants, queries, variables that env knows, members and elements of
// structs and arrays passed by value, and lengths and capacities of slices; with an AddressEnv also
// no-alias tests of slices. Errors: *EvalError, for an operation at which Go panics and for a value
// that the host does not know.
func Eval(e Expr, env Env) (Bits, error) {
	switch e := e.(type) {
	case *Const:
		return e.Bits, nil
	case *Ref:
		if x, ok := env.Scalar(e.Var); ok && e.Var.Type.IsScalar() {
			return x, nil
		}
		return 0, unknown(e, "variable "+e.Var.Name)
	case *Unary:
		x, err := Eval(e.X, env)
		if err != nil {
			return 0, err
		}
		return FoldUnary(e.Op, e.X.Type(), x), nil
	case *Binary:
		return evalBinary(e, env)
	case *Convert:
		x, err := Eval(e.X, env)
		if err != nil {
			return 0, err
		}
		return FoldConvert(e.T, e.X.Type(), x), nil
	case *Math:
		return evalMath(e, env)
	case *Query:
		if x, ok := env.Query(e.What); ok {
			return Bits(x), nil
		}
		return 0, unknown(e, e.What.String())
	case *Select:
		return evalSelect(e, env)
	}
	return evalAccess(e, env)
}

// EvalInt is Eval for an expression of any integer type whose value an int64 holds; larger ones are
// ErrBounds.
func EvalInt(e Expr, env Env) (int64, error) {
	x, err := Eval(e, env)
	if err == nil && e.Type().Kind == Uint64 && x >= 1<<63 {
		return 0, &EvalError{At: e.Pos(), What: fmt.Sprintf("value %d", x), Err: ErrBounds}
	}
	return int64(x), err
}

func unknown(e Expr, what string) error { return &EvalError{At: e.Pos(), What: what, Err: ErrUnknown} }

func evalBinary(e *Binary, env Env) (Bits, error) {
	x, err := Eval(e.X, env)
	if err != nil {
		return 0, err
	}
	if e.Op == LAnd && x == 0 || e.Op == LOr && x == 1 {
		return x, nil
	}
	y, err := Eval(e.Y, env)
	if err != nil {
		return 0, err
	}
	r, err := FoldBinary(e.Op, e.X.Type(), e.Y.Type(), x, y)
	if err != nil {
		check := &CheckError{At: e.At, Kind: DivisorCheck, What: Source(e.Y)}
		if err == ErrShift {
			check.Kind, check.Index = CountCheck, int64(y)
		}
		return 0, &EvalError{At: e.At, What: Source(e), Err: err, check: check}
	}
	return r, nil
}

func evalMath(e *Math, env Env) (Bits, error) {
	args := make([]Bits, len(e.Args))
	for i, a := range e.Args {
		x, err := Eval(a, env)
		if err != nil {
			return 0, err
		}
		args[i] = x
	}
	return FoldMath(e.Fn, e.Args[0].Type(), args...), nil
}

func evalSelect(e *Select, env Env) (Bits, error) {
	c, err := Eval(e.Cond, env)
	if err != nil {
		return 0, err
	}
	if c != 0 {
		return Eval(e.X, env)
	}
	return Eval(e.Y, env)
}

// evalAccess evaluates parts of by-value variables, and known properties of slices.
func evalAccess(e Expr, env Env) (Bits, error) {
	switch e := e.(type) {
	case *Len:
		n, _, err := evalSlice(e.X, env)
		return Bits(n), err
	case *Cap:
		_, n, err := evalSlice(e.X, env)
		return Bits(n), err
	case *Apart:
		return evalApart(e, env)
	case *Member, *Index:
		b, err := evalBytes(e, env)
		if err != nil {
			return 0, err
		}
		if t := e.Type(); t.IsScalar() {
			return LoadBits(t, b), nil
		}
	}
	return 0, unknown(e, Source(e))
}

// An AddressEnv is an Env that also knows where slices lie.
type AddressEnv interface {
	Env
	// Apart reports whether the memory of two slice or pointer variables has no byte in common; ok
	// is false where it cannot know.
	Apart(x, y *Var) (apart, ok bool)
}

func evalApart(e *Apart, env Env) (Bits, error) {
	x, okX := e.X.(*Ref)
	y, okY := e.Y.(*Ref)
	known, ok := env.(AddressEnv)
	if !okX || !okY || !ok {
		return 0, unknown(e, Source(e))
	}
	apart, ok := known.Apart(x.Var, y.Var)
	switch {
	case !ok:
		return 0, unknown(e, Source(e))
	case apart:
		return 1, nil
	}
	return 0, nil
}

// evalBytes returns the memory of a part of a by-value variable.
func evalBytes(e Expr, env Env) ([]byte, error) {
	switch e := e.(type) {
	case *Ref:
		if b, ok := env.Bytes(e.Var); ok && len(b) == int(e.Var.Type.Size) {
			return b, nil
		}
	case *Member:
		b, err := evalBytes(e.X, env)
		if err != nil {
			return nil, err
		}
		f := e.X.Type().Fields[e.Field]
		return b[f.Offset : f.Offset+f.Type.Size], nil
	case *Index:
		if t := e.X.Type(); t.Kind == Array {
			return evalElem(e, t, env)
		}
	}
	return nil, unknown(e, Source(e))
}

func evalElem(e *Index, t *Type, env Env) ([]byte, error) {
	b, err := evalBytes(e.X, env)
	if err != nil {
		return nil, err
	}
	i, err := EvalInt(e.I, env)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= t.Len {
		err := outside(e, "index %d of length %d", i, t.Len)
		err.check = &CheckError{At: e.At, Kind: IndexCheck, What: Source(e.X), Index: i, Length: t.Len}
		return nil, err
	}
	size := int64(t.Elem.Size)
	return b[i*size : (i+1)*size], nil
}

func outside(e Expr, format string, args ...any) *EvalError {
	return &EvalError{At: e.Pos(), What: Source(e) + ": " + fmt.Sprintf(format, args...), Err: ErrBounds}
}

// evalSlice returns the length and capacity of a slice, or of a part of one.
func evalSlice(e Expr, env Env) (length, capacity int64, err error) {
	switch e := e.(type) {
	case *Ref:
		if n, c, ok := env.Slice(e.Var); ok && e.Var.Type.Kind == Slice {
			return n, c, nil
		}
	case *Reslice:
		return evalReslice(e, env)
	}
	return 0, 0, unknown(e, Source(e))
}

func evalReslice(e *Reslice, env Env) (length, capacity int64, err error) {
	n, c := e.X.Type().Len, e.X.Type().Len
	if e.X.Type().Kind == Slice {
		if n, c, err = evalSlice(e.X, env); err != nil {
			return 0, 0, err
		}
	}
	lo, hi, most := int64(0), n, c
	for _, b := range []struct {
		e  Expr
		to *int64
	}{{e.Lo, &lo}, {e.Hi, &hi}, {e.Max, &most}} {
		if b.e == nil {
			continue
		}
		if *b.to, err = EvalInt(b.e, env); err != nil {
			return 0, 0, err
		}
	}
	if lo < 0 || hi < lo || most < hi || c < most {
		return 0, 0, outside(e, "bounds %d:%d:%d with capacity %d", lo, hi, most, c)
	}
	return hi - lo, most - lo, nil
}

// LoadBits reads a scalar of type t from the start of b.
func LoadBits(t *Type, b []byte) Bits {
	switch t.Size {
	case 1:
		return Normal(t, Bits(b[0]))
	case 2:
		return Normal(t, Bits(binary.LittleEndian.Uint16(b)))
	case 4:
		return Normal(t, Bits(binary.LittleEndian.Uint32(b)))
	}
	return binary.LittleEndian.Uint64(b)
}

// StoreBits writes a scalar of type t to the start of b.
func StoreBits(t *Type, b []byte, x Bits) {
	switch t.Size {
	case 1:
		b[0] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(x))
	default:
		binary.LittleEndian.PutUint64(b, x)
	}
}

// Source returns the text of e in the user's source: the text of ExprString without the marks of
// checks.
func Source(e Expr) string {
	plain := &Rewrite{Expr: func(e Expr) Expr {
		switch e := e.(type) {
		case *Ref:
			if e.Var.Source != "" {
				return &Ref{Var: &Var{Name: e.Var.Source, Source: e.Var.Source, Type: e.Var.Type, Visits: e.Var.Visits}, At: e.At}
			}
		case *Select: // not in Go: a pass guards the expression of the source by a safe alternative
			if x, ok := e.X.(*Ref); ok && x.Var.Source != "" {
				return x
			}
		case *Binary:
			e.Checked = false
		case *Index:
			if i, ok := e.I.(*Ref); ok && i.Var.Visits {
				return i
			}
			e.Checked = false
		case *Deref:
			e.Checked = false
		case *Reslice:
			e.Checked = false
		}
		return e
	}}
	return ExprString(plain.CopyExpr(e))
}
