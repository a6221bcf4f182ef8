package neon

import "github.com/gompss/gompss/codegen/cpu/arm64"

// Loads and stores of neighbours become one instruction. A load comes earlier then, over loads and
// operations on registers, which shows nowhere; between two stores nothing stands.

// A recent is an instruction since the last label, branch or store that a load may pass.
type recent struct {
	at, line int // its word, and its line in the listing
	inst     arm64.Inst
}

// A pairing is the instruction for two neighbours of so many bytes.
type pairing struct {
	op   arm64.Op
	size int64
	load bool
}

// pairings are those of the moves with an offset of whole elements.
var pairings = map[arm64.Op]pairing{
	arm64.LDR: {arm64.LDP, 8, true}, arm64.LDRFS: {arm64.LDPFS, 4, true}, arm64.LDRFD: {arm64.LDPFD, 8, true}, arm64.LDRFQ: {arm64.LDPFQ, 16, true},
	arm64.STR: {arm64.STP, 8, false}, arm64.STRFS: {arm64.STPFS, 4, false}, arm64.STRFD: {arm64.STPFD, 8, false}, arm64.STRFQ: {arm64.STPFQ, 16, false},
}

// general tells the pairings of general registers.
func (p pairing) general() bool { return p.op == arm64.LDP || p.op == arm64.STP }

// mostRecent bounds how far a load moves.
const mostRecent = 24

// remember notes the last instruction, or forgets all where none may pass it.
func (e *encoder) remember(i arm64.Inst) {
	p, pairs := pairings[i.Op]
	loads := i.Op >= arm64.LDRFSL && i.Op <= arm64.LDRL || pairs && p.load || i.Op >= arm64.LDPFS && i.Op <= arm64.LDPFQ
	registers := i.Op < arm64.B || i.Op >= arm64.FMULS && i.Op < arm64.LD1
	if !loads && !registers || len(e.recent) == mostRecent {
		e.recent = e.recent[:0]
	}
	if loads || registers || pairs {
		e.recent = append(e.recent, recent{len(e.words) - 1, len(e.lines) - 1, i})
	}
}

// joins makes one instruction of i and a neighbour before it.
func (e *encoder) joins(i arm64.Inst) bool {
	p, ok := pairings[i.Op]
	if !ok {
		return false
	}
	for k := len(e.recent) - 1; k >= 0; k-- {
		b := &e.recent[k]
		if b.inst.Op == i.Op && b.inst.N == i.N && (i.Imm-b.inst.Imm == p.size || b.inst.Imm-i.Imm == p.size) && !(p.load && b.inst.D == i.D) && !(p.load && p.general() && b.inst.D == i.N) {
			return e.join(b, i, p)
		}
		if before, store := pairings[b.inst.Op]; !p.load || store && !before.load || !passes(b.inst, i) {
			return false
		}
	}
	return false
}

// passes reports whether a load may come before b: b has nothing to do with its destination and
// does not make its address. Registers of both kinds count as one, as their numbers alone are
// compared.
func passes(b, i arm64.Inst) bool {
	if b.D == i.N || b.D == i.D || b.N == i.D || b.M == i.D || b.A == i.D {
		return false
	}
	return !(b.Op >= arm64.LDP && b.Op <= arm64.LDPFQ && b.A == i.N)
}

// join replaces b by the pair of b and i.
func (e *encoder) join(b *recent, i arm64.Inst, p pairing) bool {
	low, high := b.inst, i
	if low.Imm > high.Imm {
		low, high = high, low
	}
	both := arm64.Inst{Op: p.op, D: low.D, A: high.D, N: i.N, Imm: low.Imm}
	w, err := arm64.Encode(both)
	if err != nil {
		return false // too far from the base
	}
	e.words[b.at] = w
	if e.code.Listing {
		e.lines[b.line].Text = "\t" + both.Text()
	}
	b.inst = both
	return true
}
