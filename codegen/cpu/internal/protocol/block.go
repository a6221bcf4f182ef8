package protocol

import "github.com/gompss/gompss/codegen/cpu/x86"

func BlockWord(i int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(8*i))) }
