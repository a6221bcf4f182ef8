package arm64

import "fmt"

// A Reg is the number of a register, 0 to 31. Number 31 is the stack pointer or zero, as the
// operand says.
type Reg uint8

// ZR reads as zero and drops what is written; SP is the same number where an operand is an address.
const (
	ZR Reg = 31
	SP Reg = 31
)

// An Arrangement is how a vector register is read: lanes of a size, and how many.
type Arrangement uint8

// The arrangements.
const (
	NoArrangement Arrangement = iota
	B8
	B16
	H4
	H8
	S2
	S4
	D1
	D2
)

var arrangements = [...]string{"", "8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d"}

func (a Arrangement) String() string { return arrangements[a] }

// q is 1 for the whole register, 0 for the lower half.
func (a Arrangement) q() uint32 { return uint32(a-1) & 1 }

// size is the logarithm of the bytes of a lane.
func (a Arrangement) size() uint32 { return uint32(a-1) >> 1 }

// lane is the letter of a lane.
func (a Arrangement) lane() string { return string("bhsd"[a.size()]) }

// wider is the arrangement of all of a register whose lanes have twice the size.
func (a Arrangement) wider() Arrangement { return Arrangement(2*(a.size()+1) + 2) }

// A Cond is a condition of branches and selections, in the order of their encoding.
type Cond uint8

// The conditions. Of floats, MI is less, LS less or equal, VS says that one is NaN.
const (
	EQ Cond = iota
	NE
	HS
	LO
	MI
	PL
	VS
	VC
	HI
	LS
	GE
	LT
	GT
	LE
	AL
)

var conds = [...]string{"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"}

func (c Cond) String() string { return conds[c] }

// Not is the opposite of c.
func (c Cond) Not() Cond { return c ^ 1 }

func general(prefix string, r Reg, sp bool) string {
	switch {
	case r == 31 && sp && prefix == "w":
		return "wsp"
	case r == 31 && sp:
		return "sp"
	case r == 31:
		return prefix + "zr"
	}
	return fmt.Sprint(prefix, r)
}
