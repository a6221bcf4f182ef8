package arm64

import (
	"fmt"
	"math/bits"
	"strings"
)

// An Inst is one instruction. Its form determines which fields are used.
type Inst struct {
	Op         Op
	T          Arrangement // of vectors
	D, N, M, A Reg
	Imm        int64 // immediate, offset in bytes, lane, amount of a shift
	Imm2       int64 // the second one: a shift of an immediate, a lane, the width of a field, a bit
	Cond       Cond
}

// An Op is the number of a form in the table.
type Op uint16

// An Error is the reason why an instruction has no encoding.
type Error struct {
	Inst Inst
	Why  string
}

func (e *Error) Error() string { return fmt.Sprintf("arm64: %s: %s", e.Inst.Op, e.Why) }

func (o Op) String() string {
	if int(o) >= len(forms) {
		return fmt.Sprintf("Op(%d)", o)
	}
	return forms[o].name
}

// Encode returns the word of an instruction.
//
// Errors: *Error where an operand does not fit its field.
func Encode(i Inst) (word uint32, err error) {
	if int(i.Op) >= len(forms) || forms[i.Op].name == "" {
		return 0, &Error{i, "unknown operation"}
	}
	f := &forms[i.Op]
	if f.arr != nil && !contains(f.arr, i.T) {
		return 0, &Error{i, "arrangement " + i.T.String()}
	}
	word = f.base | f.vector(i.T)
	for _, o := range f.operands {
		bits, why := o.encode(&i)
		if why != "" {
			return 0, &Error{i, why}
		}
		word |= bits
	}
	return word, nil
}

func contains(list []Arrangement, a Arrangement) bool {
	for _, x := range list {
		if x == a {
			return true
		}
	}
	return false
}

// Text returns an instruction as the GNU assembler reads it.
func (i Inst) Text() string {
	f := &forms[i.Op]
	var parts []string
	for _, o := range f.operands {
		if s := o.text(&i); s != "" {
			parts = append(parts, s)
		}
	}
	name := strings.ReplaceAll(f.name, "?", i.Cond.String())
	return strings.TrimSpace(name + " " + strings.Join(parts, ", "))
}

// An operand describes one operand of an instruction: its encoding, the reasons why a value has
// none, and its text.
type operand struct {
	encode func(*Inst) (bits uint32, why string)
	text   func(*Inst) string
}

// Which register of an Inst an operand is, and where its number stands in the word.
type place struct {
	of    func(*Inst) Reg
	shift uint
}

var (
	atD = place{func(i *Inst) Reg { return i.D }, 0}
	atN = place{func(i *Inst) Reg { return i.N }, 5}
	atM = place{func(i *Inst) Reg { return i.M }, 16}
	atA = place{func(i *Inst) Reg { return i.A }, 10}
)

func (p place) encode(i *Inst) (uint32, string) {
	if p.of(i) > 31 {
		return 0, fmt.Sprintf("register %d", p.of(i))
	}
	return uint32(p.of(i)) << p.shift, ""
}

// gen is a general register of 64 bits ("x") or 32 ("w").
func gen(prefix string, p place) operand {
	return operand{p.encode, func(i *Inst) string { return general(prefix, p.of(i), false) }}
}

// genSP is one whose number 31 is the stack pointer.
func genSP(prefix string, p place) operand {
	return operand{p.encode, func(i *Inst) string { return general(prefix, p.of(i), true) }}
}

// scalar is a float register of a size: "s", "d", "h", "b", "q".
func scalar(prefix string, p place) operand {
	return operand{p.encode, func(i *Inst) string { return fmt.Sprint(prefix, p.of(i)) }}
}

// vec is a vector register in the arrangement of the instruction.
func vec(p place) operand {
	return operand{p.encode, func(i *Inst) string { return fmt.Sprintf("v%d.%s", p.of(i), i.T) }}
}

// vecAs is one in another arrangement.
func vecAs(p place, as func(Arrangement) Arrangement) operand {
	return operand{p.encode, func(i *Inst) string { return fmt.Sprintf("v%d.%s", p.of(i), as(i.T)) }}
}

// laneOf is a lane of a vector, by number Imm or Imm2; encode has its bits.
func laneOf(p place, number func(*Inst) int64, encode func(*Inst) (uint32, string)) operand {
	return operand{func(i *Inst) (uint32, string) {
		r, why := p.encode(i)
		if why != "" {
			return 0, why
		}
		l, why := encode(i)
		return r | l, why
	}, func(i *Inst) string { return fmt.Sprintf("v%d.%s[%d]", p.of(i), i.T.lane(), number(i)) }}
}

// lastScalar is the register of a lane's size that an operation across lanes leaves its result in.
func lastScalar(p place, wide bool) operand {
	return operand{p.encode, func(i *Inst) string {
		size := i.T.size()
		if wide {
			size++
		}
		return fmt.Sprint(string("bhsdq"[size]), p.of(i))
	}}
}

// word is text without bits.
func word(text string) operand {
	return operand{func(*Inst) (uint32, string) { return 0, "" }, func(*Inst) string { return text }}
}

// unsigned is an immediate from 0 to 2^n - 1 at a bit, a multiple of scale.
func unsigned(of func(*Inst) int64, shift, n uint, scale int64) operand {
	return operand{func(i *Inst) (uint32, string) {
		v := of(i)
		if v < 0 || v%scale != 0 || v/scale >= 1<<n {
			return 0, fmt.Sprintf("%d: want a multiple of %d below %d", v, scale, scale<<n)
		}
		return uint32(v/scale) << shift, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", of(i)) }}
}

// signed is an immediate of n bits with a sign, a multiple of scale.
func signed(of func(*Inst) int64, shift, n uint, scale int64) operand {
	return operand{func(i *Inst) (uint32, string) {
		v, half := of(i), int64(1)<<(n-1)
		if v%scale != 0 || v/scale >= half || v/scale < -half {
			return 0, fmt.Sprintf("%d: want a multiple of %d from %d to %d", v, scale, -half*scale, (half-1)*scale)
		}
		return uint32(v/scale) & (1<<n - 1) << shift, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", of(i)) }}
}

// target is a place in the code, in bytes from the instruction.
func target(shift, n uint) operand {
	o := signed(immOf, shift, n, 4)
	o.text = func(i *Inst) string { return fmt.Sprintf(".%+d", i.Imm) }
	return o
}

func immOf(i *Inst) int64  { return i.Imm }
func imm2Of(i *Inst) int64 { return i.Imm2 }

// hidden gives no text to the operand of a bit that another one's text has.
func hidden(o operand) operand {
	o.text = func(*Inst) string { return "" }
	return o
}

// address is [Xn, #imm] with the immediate that o encodes.
func address(o operand) operand {
	return operand{func(i *Inst) (uint32, string) {
		r, why := atN.encode(i)
		if why != "" {
			return 0, why
		}
		b, why := o.encode(i)
		return r | b, why
	}, func(i *Inst) string {
		if i.Imm == 0 {
			return fmt.Sprintf("[%s]", general("x", i.N, true))
		}
		return fmt.Sprintf("[%s, #%d]", general("x", i.N, true), i.Imm)
	}}
}

// base is [Xn].
func base() operand {
	return operand{atN.encode, func(i *Inst) string { return fmt.Sprintf("[%s]", general("x", i.N, true)) }}
}

// indexed is [Xn, Xm, lsl #Imm], where the amount is 0 or the logarithm of the size.
func indexed(size int64) operand {
	return operand{func(i *Inst) (uint32, string) {
		if i.Imm != 0 && i.Imm != size {
			return 0, fmt.Sprintf("index scaled by 2^%d: want 0 or %d", i.Imm, size)
		}
		n, _ := atN.encode(i)
		m, why := atM.encode(i)
		if i.Imm != 0 {
			n |= 1 << 12
		}
		return n | m, why
	}, func(i *Inst) string {
		if i.Imm == 0 {
			return fmt.Sprintf("[%s, %s]", general("x", i.N, true), general("x", i.M, false))
		}
		return fmt.Sprintf("[%s, %s, lsl #%d]", general("x", i.N, true), general("x", i.M, false), i.Imm)
	}}
}

// list is n vectors from D on.
func list(n int) operand {
	return operand{atD.encode, func(i *Inst) string { return "{" + listText(i, n, i.T.String()) + "}" }}
}

func listText(i *Inst, n int, lanes string) string {
	var out []string
	for k := range n {
		out = append(out, fmt.Sprintf("v%d.%s", (int(i.D)+k)%32, lanes))
	}
	return strings.Join(out, ", ")
}

// bitmask is an immediate of logical operations: a run of ones, rotated, repeated.
func bitmask(width int) operand {
	return operand{func(i *Inst) (uint32, string) {
		b, ok := encodeBitmask(uint64(i.Imm), width)
		if !ok {
			return 0, fmt.Sprintf("%#x: no rotated run of ones", uint64(i.Imm))
		}
		return b, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%#x", uint64(i.Imm)) }}
}

// encodeBitmask returns N, immr and imms in their places.
func encodeBitmask(v uint64, width int) (uint32, bool) {
	if width == 32 {
		if v>>32 != 0 {
			return 0, false
		}
		v |= v << 32
	}
	if v == 0 || v == ^uint64(0) {
		return 0, false
	}
	size := 64
	for half := size / 2; half >= 2; half /= 2 {
		mask := uint64(1)<<half - 1
		if v&mask != v>>half&mask {
			break
		}
		size = half
	}
	mask := ^uint64(0) >> (64 - size)
	elem := v & mask
	rotate := 0
	for ; rotate < size; rotate++ {
		turned := (elem>>rotate | elem<<(size-rotate)) & mask
		if turned&(turned+1) == 0 {
			ones := bits.OnesCount64(turned)
			imms := uint32(^(2*size-1)&0x3f | (ones - 1))
			n := uint32(0)
			if size == 64 {
				n, imms = 1, uint32(ones-1)
			}
			return n<<22 | uint32((size-rotate)%size)<<16 | imms<<10, true
		}
	}
	return 0, false
}
