package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String returns "file.go:3:5", "file.go:3" without a column, and "-" for the unknown position.
func (p Pos) String() string {
	switch {
	case p == Pos{}:
		return "-"
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

var kindNames = [...]string{"invalid", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "array", "struct", "slice", "pointer"}

func (k Kind) String() string { return name(kindNames[:], int(k)) }

// String returns the type as Go writes it: its name where it has one.
func (t *Type) String() string {
	if t == nil {
		return "<nil>"
	}
	if t.Name != "" {
		return t.Name
	}
	return t.Literal()
}

// Literal returns the type as Go writes it without its own name; names of element and field types
// stay.
func (t *Type) Literal() string {
	switch t.Kind {
	case Array:
		return fmt.Sprintf("[%d]%s", t.Len, t.Elem)
	case Slice:
		return "[]" + t.Elem.String()
	case Pointer:
		return "*" + t.Elem.String()
	case Struct:
		return structLiteral(t.Fields)
	}
	return t.Kind.String()
}

func structLiteral(fields []Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name + " " + f.Type.String()
	}
	return "struct{" + strings.Join(out, "; ") + "}"
}

var spaceNames = [...]string{"param", "local", "team", "scratch"}

func (s Space) String() string { return name(spaceNames[:], int(s)) }

var opNames = [...]string{"none", "-", "!", "^", "+", "-", "*", "/", "%", "&", "|", "^", "&^", "<<", ">>",
	"==", "!=", "<", "<=", ">", ">=", "&&", "||", "min", "max", "minloc", "maxloc"}

// String returns the operator as Go writes it; Neg and Sub, Com and Xor look the same.
func (o Op) String() string { return name(opNames[:], int(o)) }

var queryNames = [...]string{"ThreadNum", "NumThreads", "TeamNum", "NumTeams", "Lane", "WarpSize"}

func (q QueryKind) String() string { return name(queryNames[:], int(q)) }

var shuffleNames = [...]string{"shuffleDown", "shuffleUp", "shuffleXor", "shuffleFrom"}

func (s ShuffleKind) String() string { return name(shuffleNames[:], int(s)) }

var atomicNames = [...]string{"read", "write", "update", "capture", "compare"}

func (a AtomicKind) String() string { return name(atomicNames[:], int(a)) }

var scopeNames = [...]string{"barrier", "warpBarrier", "namedBarrier", "gridBarrier"}

func (s BarrierScope) String() string { return name(scopeNames[:], int(s)) }

var scheduleNames = [...]string{"none", "static", "dynamic", "guided", "auto", "onetoone", "cyclic", "counter"}

func (s ScheduleKind) String() string { return name(scheduleNames[:], int(s)) }

var modeNames = [...]string{"auto", "spmd", "broadcast", "control_loop", "warp_specialized"}

func (m TeamMode) String() string { return name(modeNames[:], int(m)) }

var bindNames = [...]string{"none", "teams", "parallel", "thread"}

func (b Bind) String() string { return name(bindNames[:], int(b)) }

var nestedNames = [...]string{"none", "auto", "inline", "eager", "cta", "warp", "host", "cpu", "cross", "lanes", "groups"}

func (n NestedKind) String() string { return name(nestedNames[:], int(n)) }

var distNames = [...]string{"dist_private", "dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate"}

func (d DistKind) String() string { return name(distNames[:], int(d)) }

// name returns names[i], or the number for a value that no constant has.
func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return strconv.Itoa(i)
}

var partNames = [...]string{"teams", "distribute", "parallel", "for", "simd", "loop", "single", "masked"}

// String returns the words of the directive in the order of the OpenMP standard.
func (p Parts) String() string {
	var words []string
	for i, word := range partNames {
		if p&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// String returns the value as Go writes it; floats always carry a point or an exponent.
func (e *Const) String() string {
	switch t := e.T; {
	case t.Kind == Bool:
		return strconv.FormatBool(e.Bits != 0)
	case t.Kind == Float32:
		return floatString(float64(math.Float32frombits(uint32(e.Bits))), 32)
	case t.Kind == Float64:
		return floatString(math.Float64frombits(e.Bits), 64)
	case t.IsSigned():
		return strconv.FormatInt(int64(e.Bits), 10)
	}
	return strconv.FormatUint(e.Bits, 10)
}

func floatString(v float64, bits int) string {
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if v == math.Trunc(v) && !strings.ContainsAny(s, "eIN") {
		s += ".0"
	}
	return s
}
