package arm64

import "fmt"

// A form is one instruction of the table.
type form struct {
	name     string // "?" stands for the condition
	base     uint32
	arr      []Arrangement // those that there are, nil for what is no vector
	kind     kind
	operands []operand
}

// A kind says where the arrangement stands in the word.
type kind uint8

const (
	noneKind  kind = iota
	halfKind       // Q at bit 30
	sizedKind      // and the size of a lane at bit 22
	floatKind      // Q, and whether lanes have 64 bits at bit 22
	ldstKind       // Q, and the size of a lane at bit 10
	umovKind       // Q where a lane has 64 bits
)

// vector returns the bits of an arrangement.
func (f *form) vector(t Arrangement) uint32 {
	switch f.kind {
	case halfKind:
		return t.q() << 30
	case sizedKind:
		return t.q()<<30 | t.size()<<22
	case floatKind:
		return t.q()<<30 | (t.size()&1)<<22
	case ldstKind:
		return t.q()<<30 | t.size()<<10
	case umovKind:
		return t.size() / 3 << 30
	}
	return 0
}

// Sets of arrangements.
var (
	allLanes   = []Arrangement{B8, B16, H4, H8, S2, S4, D2}
	upTo32     = []Arrangement{B8, B16, H4, H8, S2, S4}
	upTo16     = []Arrangement{B8, B16, H4, H8}
	bytes      = []Arrangement{B8, B16}
	floatLanes = []Arrangement{S2, S4, D2}
	lowHalves  = []Arrangement{B8, H4, S2}
	highHalves = []Arrangement{B16, H8, S4}
	across     = []Arrangement{B8, B16, H4, H8, S4}
	wholes     = []Arrangement{B16, H8, S4, D2}
)

// paired is the arrangement of sums of neighbours.
func paired(a Arrangement) Arrangement { return a + 2 }

var (
	imm12   = unsigned(immOf, 10, 12, 1)
	shift12 = choice(imm2Of, 22, 12, "lsl #12")
	bit     = operand{func(i *Inst) (uint32, string) {
		if i.Imm2 < 0 || i.Imm2 > 63 {
			return 0, fmt.Sprintf("bit %d", i.Imm2)
		}
		return uint32(i.Imm2&31)<<19 | uint32(i.Imm2>>5)<<31, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", i.Imm2) }}
	near = operand{func(i *Inst) (uint32, string) {
		if i.Imm < -1<<20 || i.Imm >= 1<<20 {
			return 0, fmt.Sprintf("%d bytes away", i.Imm)
		}
		return uint32(i.Imm&3)<<29 | uint32(i.Imm>>2)&(1<<19-1)<<5, ""
	}, func(i *Inst) string { return fmt.Sprintf(".%+d", i.Imm) }}
	halfwordX = halfword(4)
	halfwordW = halfword(2)
	shiftedX  = shifted(6)
	shiftedW  = shifted(5)
	condition = conditionAt(12)
	eightBits = operand{func(i *Inst) (uint32, string) {
		if i.Imm < 0 || i.Imm > 255 {
			return 0, fmt.Sprintf("%d: want 8 bits", i.Imm)
		}
		return uint32(i.Imm>>5)<<16 | uint32(i.Imm&31)<<5, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", i.Imm) }}
	lsl8 = operand{func(i *Inst) (uint32, string) {
		if i.Imm2 < 0 || i.Imm2 > 24 || i.Imm2%8 != 0 {
			return 0, fmt.Sprintf("shift by %d", i.Imm2)
		}
		return uint32(i.Imm2/8) << 13, ""
	}, shiftText}
)

func shiftText(i *Inst) string {
	if i.Imm2 == 0 {
		return ""
	}
	return fmt.Sprintf("lsl #%d", i.Imm2)
}

// choice is a bit that is set where an immediate has a value, and not where it is 0.
func choice(of func(*Inst) int64, shift uint, value int64, text string) operand {
	return operand{func(i *Inst) (uint32, string) {
		switch of(i) {
		case 0:
			return 0, ""
		case value:
			return 1 << shift, ""
		}
		return 0, fmt.Sprintf("%d: want 0 or %d", of(i), value)
	}, func(i *Inst) string {
		if of(i) == 0 {
			return ""
		}
		return text
	}}
}

// halfword is which of n parts of 16 bits an immediate is moved to.
func halfword(n int64) operand {
	return operand{func(i *Inst) (uint32, string) {
		if i.Imm2 < 0 || i.Imm2%16 != 0 || i.Imm2/16 >= n {
			return 0, fmt.Sprintf("shift by %d", i.Imm2)
		}
		return uint32(i.Imm2/16) << 21, ""
	}, shiftText}
}

// shifted is the amount by which the last operand is shifted left.
func shifted(n uint) operand {
	o := unsigned(imm2Of, 10, n, 1)
	o.text = shiftText
	return o
}

// extended is the amount by which a converted operand is shifted left.
func extended(how string) operand {
	return operand{func(i *Inst) (uint32, string) {
		if i.Imm2 < 0 || i.Imm2 > 4 {
			return 0, fmt.Sprintf("shift by %d", i.Imm2)
		}
		return uint32(i.Imm2) << 10, ""
	}, func(i *Inst) string { return fmt.Sprintf("%s #%d", how, i.Imm2) }}
}

func conditionAt(shift uint) operand {
	return operand{func(i *Inst) (uint32, string) {
		if i.Cond > AL {
			return 0, "condition"
		}
		return uint32(i.Cond) << shift, ""
	}, func(i *Inst) string { return i.Cond.String() }}
}

// leftShift and rightShift are amounts by which lanes are shifted: the size of a lane is the
// highest bit of the field.
var (
	leftShift = operand{func(i *Inst) (uint32, string) {
		lane := int64(8) << i.T.size()
		if i.Imm < 0 || i.Imm >= lane {
			return 0, fmt.Sprintf("shift of %d bits by %d", lane, i.Imm)
		}
		return uint32(lane+i.Imm) << 16, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", i.Imm) }}
	rightShift = operand{func(i *Inst) (uint32, string) {
		lane := int64(8) << i.T.size()
		if i.Imm < 1 || i.Imm > lane {
			return 0, fmt.Sprintf("shift of %d bits by %d", lane, i.Imm)
		}
		return uint32(2*lane-i.Imm) << 16, ""
	}, func(i *Inst) string { return fmt.Sprintf("#%d", i.Imm) }}
)

// lanes is the number of lanes that a whole register has.
func lanes(t Arrangement) int64 { return 16 >> t.size() }

// laneImm5 is the number of a lane with the size in the bit below it.
func laneImm5(of func(*Inst) int64) func(*Inst) (uint32, string) {
	return func(i *Inst) (uint32, string) {
		if of(i) < 0 || of(i) >= lanes(i.T) {
			return 0, fmt.Sprintf("lane %d", of(i))
		}
		return uint32(of(i)<<1|1) << i.T.size() << 16, ""
	}
}

// laneImm4 is the number of a lane beside one that has the size.
func laneImm4(i *Inst) (uint32, string) {
	if i.Imm2 < 0 || i.Imm2 >= lanes(i.T) {
		return 0, fmt.Sprintf("lane %d", i.Imm2)
	}
	return uint32(i.Imm2) << i.T.size() << 11, ""
}

// floatLane is the lane of a factor that all lanes have in common.
func floatLane(i *Inst) (uint32, string) {
	n := i.Imm
	if n < 0 || n >= lanes(i.T) {
		return 0, fmt.Sprintf("lane %d", n)
	}
	if i.T.size() == 3 {
		return uint32(n) << 11, ""
	}
	return uint32(n>>1)<<11 | uint32(n&1)<<21, ""
}

var (
	laneSize = operand{func(i *Inst) (uint32, string) { return 1 << i.T.size() << 16, "" }, nil}
	// fromGeneral and toGeneral are general registers of at least the size of a lane.
	fromGeneral = operand{atN.encode, func(i *Inst) string { return general(generalFor(i.T), i.N, false) }}
	toGeneral   = operand{atD.encode, func(i *Inst) string { return general(generalFor(i.T), i.D, false) }}
	// lane is one lane of a vector that is loaded or stored.
	lane = operand{func(i *Inst) (uint32, string) {
		n := uint32(i.Imm)
		if i.Imm < 0 || i.Imm >= lanes(i.T) {
			return 0, fmt.Sprintf("lane %d", i.Imm)
		}
		d, why := atD.encode(i)
		switch i.T.size() {
		case 0:
			return d | n>>3<<30 | n>>2&1<<12 | n&3<<10, why
		case 1:
			return d | 2<<13 | n>>2<<30 | n>>1&1<<12 | n&1<<11, why
		case 2:
			return d | 4<<13 | n>>1<<30 | n&1<<12, why
		}
		return d | 4<<13 | 1<<10 | n<<30, why
	}, func(i *Inst) string { return fmt.Sprintf("{v%d.%s}[%d]", i.D, i.T.lane(), i.Imm) }}
)

func generalFor(t Arrangement) string {
	if t.size() == 3 {
		return "x"
	}
	return "w"
}

// table is the n vectors, from N on, that bytes are taken from.
func table(n int) operand {
	return operand{atN.encode, func(i *Inst) string {
		from := *i
		from.D = i.N
		return "{" + listText(&from, n, "16b") + "}"
	}}
}
