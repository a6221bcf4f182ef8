// Package cuda prints device IR as CUDA C++ that NVRTC compiles without any header.
//
// Print is pure: the same program and options give the same text, byte for byte. The text keeps the
// user's names and is readable; it says in plain C++ what can be said so, and calls a
// function of the prelude (prelude.go, only those used are printed) where Go and C++ differ:
// checks, shifts past the width, MinInt / -1, NaN in min and max.
//
// Known: float64 Gamma errs by up to 4.1 ulp as measured (10 as documented), all other functions by
// less than 4. Two defects of ptxas before CUDA 13.5 can show for the least integers: neg.s16
// (go_neg16 avoids it where the negation is written) and max(x, -x) of the least int32 used as a
// divisor, which is taken for positive.
//
// Invariants:
//   - no signed arithmetic that may overflow is printed: interval analysis (range.go) proves that
//     it cannot, or the operation is done on unsigned operands, which is Go's wrap-around;
//   - nothing is contracted unless the program says FastMath: Source.Options holds the NVRTC
//     options that the text relies on, and they are part of its Hash;
//   - a check that fails records the site, index and length once and ends the thread before the
//     access. A kernel that also has a barrier for a part of the team is refused: that barrier
//     waits for ended threads, while __syncthreads, warp barriers and shuffles do not (seen on an
//     H200);
//   - every argument of a kernel is listed in its Entry, in order, with its offset in the
//     parameter block.
package cuda
