package ir

// signatures has one letter for each argument of a function, a colon, and one for the result: f
// float of the type of the first argument, i integer likewise, u unsigned likewise, n int, b bool,
// s and d float32 and float64, 4 and 8 the unsigned integers of these widths.
var signatures = map[MathFn]string{
	FMA: "fff:f", IsNaN: "f:b", IsInf: "fn:b", Signbit: "f:b", IMin: "ii:i", IMax: "ii:i",
	Float32Bits: "s:4", Float32FromBits: "4:s", Float64Bits: "d:8", Float64FromBits: "8:d",
	LeadingZeros: "u:n", TrailingZeros: "u:n", OnesCount: "u:n", BitLen: "u:n", Reverse: "u:u", ReverseBytes: "u:u",
	RotateLeft: "un:u", MulHi: "uu:u",
}

func MathSignature(fn MathFn) string {
	switch {
	case fn >= numMath:
	case signatures[fn] != "":
		return signatures[fn]
	case binaryFloat[fn] != nil:
		return "ff:f"
	case unaryFloat[fn] != nil || fn == Rsqrt:
		return "f:f"
	}
	return ""
}
