//go:build amd64.v3

package cpu

// goFuses says that Go's compiler makes one fused operation of x*y + z, as the processors that this
// build is for have one.
const goFuses = true
