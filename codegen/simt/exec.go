package simt

import (
	"encoding/binary"
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// status says why a thread stopped.
type status uint8

const (
	ready   status = iota // has not started, or may continue
	waiting               // at the barrier or shuffle that pc is at
	ended
	failed
)

// thread is one thread of a team.
type thread struct {
	regs    []uint64
	private []byte
	pc      int32
	id      int // in the team
	status  status
	clock   uint32 // for race detection: see race.go
	known   *knowledge
	later   []laterCopy // in the order of the program
}

// A laterCopy is a value that is written at the next barrier of the team.
type laterCopy struct {
	to, value uint64
	by        op // the store operation
}

// execute executes t until it stops. The switch is the whole of the interpreter: one case for each
// operation. What a kernel does in most turns of a loop stands in the switch itself: with the
// operations on floating-point numbers in a second function Forces took a fifth more processor
// time, with indexed accesses in one the sum of int32 arrays a sixth: go test ./codegen/simt -run
// '^$' -bench .
func execute(m *machine, t *thread) status {
	ins, regs, segs := m.code.ins, t.regs, m.segments
	m.current = t
	segs[privateSegment] = t.private
	pc, n, limit := int(t.pc), m.count, m.check
	race := m.race
	for {
		if n >= limit {
			if !m.mayContinue(n) {
				return failed
			}
			limit = m.check
		}
		in := &ins[pc]
		pc++
		n++
		switch in.op {
		case opMove:
			regs[in.a] = regs[in.b]
		case opMove3:
			regs[in.a], regs[in.a+1], regs[in.a+2] = regs[in.b], regs[in.b+1], regs[in.b+2]
		case opAdd:
			regs[in.a] = regs[in.b] + regs[in.c]
		case opSub:
			regs[in.a] = regs[in.b] - regs[in.c]
		case opMul:
			regs[in.a] = regs[in.b] * regs[in.c]
		case opMulAdd:
			regs[in.a] = regs[in.b]*regs[in.c] + regs[in.imm]
		case opDivS, opRemS, opDivU, opRemU:
			if !divide(in, regs) {
				return m.fail(t, pc, n)
			}
		case opAnd:
			regs[in.a] = regs[in.b] & regs[in.c]
		case opOr:
			regs[in.a] = regs[in.b] | regs[in.c]
		case opXor:
			regs[in.a] = regs[in.b] ^ regs[in.c]
		case opAndNot:
			regs[in.a] = regs[in.b] &^ regs[in.c]
		case opShl:
			regs[in.a] = regs[in.b] << regs[in.c]
		case opShrS:
			regs[in.a] = uint64(int64(regs[in.b]) >> regs[in.c])
		case opShrU:
			regs[in.a] = regs[in.b] >> regs[in.c]
		case opNeg:
			regs[in.a] = -regs[in.b]
		case opCom:
			regs[in.a] = ^regs[in.b]
		case opExtS32:
			regs[in.a] = uint64(int32(regs[in.b]))
		case opExtU32:
			regs[in.a] = uint64(uint32(regs[in.b]))
		case opEq:
			regs[in.a] = ir.BoolBits(regs[in.b] == regs[in.c])
		case opNe:
			regs[in.a] = ir.BoolBits(regs[in.b] != regs[in.c])
		case opLtS:
			regs[in.a] = ir.BoolBits(int64(regs[in.b]) < int64(regs[in.c]))
		case opLeS:
			regs[in.a] = ir.BoolBits(int64(regs[in.b]) <= int64(regs[in.c]))
		case opLtU:
			regs[in.a] = ir.BoolBits(regs[in.b] < regs[in.c])
		case opLeU:
			regs[in.a] = ir.BoolBits(regs[in.b] <= regs[in.c])

		case opAddF32:
			regs[in.a] = b32(f32(regs[in.b]) + f32(regs[in.c]))
		case opSubF32:
			regs[in.a] = b32(f32(regs[in.b]) - f32(regs[in.c]))
		case opMulF32:
			regs[in.a] = b32(f32(regs[in.b]) * f32(regs[in.c]))
		case opDivF32:
			regs[in.a] = b32(f32(regs[in.b]) / f32(regs[in.c]))
		case opEqF32:
			regs[in.a] = ir.BoolBits(f32(regs[in.b]) == f32(regs[in.c]))
		case opNeF32:
			regs[in.a] = ir.BoolBits(f32(regs[in.b]) != f32(regs[in.c]))
		case opLtF32:
			regs[in.a] = ir.BoolBits(f32(regs[in.b]) < f32(regs[in.c]))
		case opLeF32:
			regs[in.a] = ir.BoolBits(f32(regs[in.b]) <= f32(regs[in.c]))
		case opSqrtF32:
			regs[in.a] = b32(float32(math.Sqrt(float64(f32(regs[in.b])))))
		case opRsqrtF32:
			regs[in.a] = b32(float32(1 / math.Sqrt(float64(f32(regs[in.b])))))
		case opAddF64:
			regs[in.a] = math.Float64bits(f64(regs[in.b]) + f64(regs[in.c]))
		case opSubF64:
			regs[in.a] = math.Float64bits(f64(regs[in.b]) - f64(regs[in.c]))
		case opMulF64:
			regs[in.a] = math.Float64bits(f64(regs[in.b]) * f64(regs[in.c]))
		case opDivF64:
			regs[in.a] = math.Float64bits(f64(regs[in.b]) / f64(regs[in.c]))
		case opEqF64:
			regs[in.a] = ir.BoolBits(f64(regs[in.b]) == f64(regs[in.c]))
		case opNeF64:
			regs[in.a] = ir.BoolBits(f64(regs[in.b]) != f64(regs[in.c]))
		case opLtF64:
			regs[in.a] = ir.BoolBits(f64(regs[in.b]) < f64(regs[in.c]))
		case opLeF64:
			regs[in.a] = ir.BoolBits(f64(regs[in.b]) <= f64(regs[in.c]))
		case opSqrtF64:
			regs[in.a] = math.Float64bits(math.Sqrt(f64(regs[in.b])))
		case opRsqrtF64:
			regs[in.a] = math.Float64bits(1 / math.Sqrt(f64(regs[in.b])))

		case opS64ToF32:
			regs[in.a] = b32(float32(int64(regs[in.b])))
		case opS64ToF64:
			regs[in.a] = math.Float64bits(float64(int64(regs[in.b])))
		case opF32ToF64:
			regs[in.a] = math.Float64bits(float64(f32(regs[in.b])))
		case opF64ToF32:
			regs[in.a] = b32(float32(f64(regs[in.b])))
		case opF32ToS64:
			regs[in.a] = uint64(ir.CutInt64(float64(f32(regs[in.b]))))
		case opF64ToS64:
			regs[in.a] = uint64(ir.CutInt64(f64(regs[in.b])))
		case opJump:
			pc = int(in.imm)
		case opJumpIf:
			pc = in.next(pc, regs[in.b] != 0)
		case opJumpNot:
			pc = in.next(pc, regs[in.b] == 0)
		case opJumpEq:
			pc = in.next(pc, regs[in.b] == regs[in.c])
		case opJumpNe:
			pc = in.next(pc, regs[in.b] != regs[in.c])
		case opJumpLtS:
			pc = in.next(pc, int64(regs[in.b]) < int64(regs[in.c]))
		case opJumpLeS:
			pc = in.next(pc, int64(regs[in.b]) <= int64(regs[in.c]))
		case opJumpLtU:
			pc = in.next(pc, regs[in.b] < regs[in.c])
		case opJumpLeU:
			pc = in.next(pc, regs[in.b] <= regs[in.c])
		case opLoopLt:
			regs[in.a] += regs[in.b]
			pc = in.next(pc, int64(regs[in.a]) < int64(regs[in.c]))
		case opCall:
			regs[in.a] = uint64(pc)
			pc = int(in.imm)
		case opReturn:
			pc = int(regs[in.a])
		case opExit:
			m.count = n
			return ended

		case opLoadIndexU32, opLoadIndex64:
			p, ok := elem(in, regs)
			if !ok {
				return m.fail(t, pc, n)
			}
			if race != nil {
				race.read(p, opSizes[in.op], pc-1)
			}
			if in.op == opLoadIndexU32 {
				regs[in.a] = uint64(binary.LittleEndian.Uint32(segs[p>>segmentShift][p&offsetMask:]))
			} else {
				regs[in.a] = binary.LittleEndian.Uint64(segs[p>>segmentShift][p&offsetMask:])
			}
		case opLoadIndexU8, opLoadIndexU16, opLoadIndexS8, opLoadIndexS16, opLoadIndexS32:
			p, ok := elem(in, regs)
			if !ok {
				return m.fail(t, pc, n)
			}
			if race != nil {
				race.read(p, opSizes[in.op], pc-1)
			}
			regs[in.a] = get(in.op-opLoadIndexU8+opLoadU8, segs[p>>segmentShift][p&offsetMask:])
		case opStoreIndex8, opStoreIndex16, opStoreIndex32, opStoreIndex64:
			p, ok := elem(in, regs)
			if !ok {
				return m.fail(t, pc, n)
			}
			if race != nil {
				race.write(p, opSizes[in.op], pc-1)
			}
			put(in.op-opStoreIndex8+opStore8, segs[p>>segmentShift][p&offsetMask:], regs[in.a])
		case opLoadU8, opLoadU16, opLoadU32, opLoad64, opLoadS8, opLoadS16, opLoadS32:
			load(m, in, regs, pc-1)
		case opStore8, opStore16, opStore32, opStore64:
			store(m, in, regs, pc-1)

		case opBarrier, opShuffle:
			m.count = n
			t.pc = int32(pc - 1)
			return waiting
		default:
			if !rare(m, in, regs, pc-1) {
				return m.fail(t, pc, n)
			}
		}
	}
}

// next returns where a jump leads: to the instruction that in names where it is taken.
func (in *instr) next(pc int, taken bool) int {
	if taken {
		return int(in.imm)
	}
	return pc
}

// divide executes a division of integers; it reports false where the divisor is zero.
func divide(in *instr, regs []uint64) bool {
	x, y := regs[in.b], regs[in.c]
	if y == 0 {
		return false
	}
	switch in.op {
	case opDivS:
		regs[in.a] = uint64(int64(x) / int64(y))
	case opRemS:
		regs[in.a] = uint64(int64(x) % int64(y))
	case opDivU:
		regs[in.a] = x / y
	default:
		regs[in.a] = x % y
	}
	return true
}

// elem returns the address of the element that an indexed access names; ok is false where the
// index is outside of the slice.
func elem(in *instr, regs []uint64) (address uint64, ok bool) {
	i := regs[in.c]
	return regs[in.b] + i*uint64(in.imm>>32) + uint64(uint32(in.imm)), i < regs[in.b+1]
}

// load and store access memory at an address.
func load(m *machine, in *instr, regs []uint64, pc int) {
	p := regs[in.b] + uint64(in.imm)
	if m.race != nil {
		m.race.read(p, opSizes[in.op], pc)
	}
	regs[in.a] = get(in.op, m.segments[p>>segmentShift][p&offsetMask:])
}

func store(m *machine, in *instr, regs []uint64, pc int) {
	p := regs[in.b] + uint64(in.imm)
	if m.race != nil {
		m.race.write(p, opSizes[in.op], pc)
	}
	put(in.op, m.segments[p>>segmentShift][p&offsetMask:], regs[in.a])
}

// rare executes the operations that may cost a call; it reports false where one fails.
func rare(m *machine, in *instr, regs []uint64, pc int) bool {
	switch in.op {
	case opMinS:
		regs[in.a] = uint64(min(int64(regs[in.b]), int64(regs[in.c])))
	case opMaxS:
		regs[in.a] = uint64(max(int64(regs[in.b]), int64(regs[in.c])))
	case opExtS8:
		regs[in.a] = uint64(int8(regs[in.b]))
	case opExtS16:
		regs[in.a] = uint64(int16(regs[in.b]))
	case opExtU8:
		regs[in.a] = uint64(uint8(regs[in.b]))
	case opExtU16:
		regs[in.a] = uint64(uint16(regs[in.b]))
	case opConvert:
		c := m.code.conversions[in.imm]
		regs[in.a] = ir.FoldConvert(c.to, c.from, regs[in.b])
	case opMath:
		regs[in.a] = m.code.functions[in.imm](regs[in.b], regs[in.b+1], regs[in.b+2])
	case opOffset:
		regs[in.a] = regs[in.b] + uint64(in.imm)
	case opNegative:
		return int64(regs[in.b]) >= 0
	case opNil:
		return regs[in.b] != 0
	case opStep:
		return stepFits(ir.Op(in.imm), regs[in.b], in.c != 0)
	case opElemSlice:
		regs[in.a] = regs[in.b] + regs[in.c]*uint64(in.imm>>32) + uint64(uint32(in.imm))
		return regs[in.c] < regs[in.b+1]
	case opElemArray:
		x := &m.code.arrays[in.imm]
		regs[in.a] = regs[in.b] + regs[in.c]*uint64(x.size) + uint64(x.off)
		return regs[in.c] < uint64(x.length)
	case opLater:
		m.current.later = append(m.current.later, laterCopy{to: regs[in.b], value: regs[in.a], by: op(in.imm)})
		regs[in.a] = ^regs[in.a]
	case opCopy:
		m.copy(regs[in.a], regs[in.b], in.imm, pc)
	case opZero:
		m.zero(regs[in.a], in.imm, pc)
	case opSlice:
		return m.slice(in, regs)
	case opAtomic:
		return m.atomic(in, regs, pc)
	default:
		panic("gompss: bug: simt: no such operation")
	}
	return true
}

func f32(b uint64) float32 { return math.Float32frombits(uint32(b)) }
func f64(b uint64) float64 { return math.Float64frombits(b) }
func b32(f float32) uint64 { return uint64(math.Float32bits(f)) }

// get reads what a load operation reads.
func get(o op, b []byte) uint64 {
	switch o {
	case opLoadU8:
		return uint64(b[0])
	case opLoadS8:
		return uint64(int8(b[0]))
	case opLoadU16:
		return uint64(binary.LittleEndian.Uint16(b))
	case opLoadS16:
		return uint64(int16(binary.LittleEndian.Uint16(b)))
	case opLoadU32:
		return uint64(binary.LittleEndian.Uint32(b))
	case opLoadS32:
		return uint64(int32(binary.LittleEndian.Uint32(b)))
	}
	return binary.LittleEndian.Uint64(b)
}

// put writes what a store operation writes.
func put(o op, b []byte, x uint64) {
	switch o {
	case opStore8:
		b[0] = byte(x)
	case opStore16:
		binary.LittleEndian.PutUint16(b, uint16(x))
	case opStore32:
		binary.LittleEndian.PutUint32(b, uint32(x))
	default:
		binary.LittleEndian.PutUint64(b, x)
	}
}

// stepFits reports whether a step leads a counted loop to its end.
func stepFits(rel ir.Op, step uint64, unsigned bool) bool {
	switch {
	case step == 0:
		return false
	case unsigned || rel == ir.Ne:
		return true
	case rel == ir.Lt || rel == ir.Le:
		return int64(step) > 0
	}
	return int64(step) < 0
}
