//go:build amd64.v3 || arm64

package analysis

// goFuses says that Go's compiler makes one fused operation of x*y + z, as the processors that this
// build is for have one.
const goFuses = true
