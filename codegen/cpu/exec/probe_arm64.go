//go:build linux || darwin

package exec

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// probeCode stores 42 to the first word of the block: MOVZ X1, STR X1 and RET.
var probeCode = [...]uint32{0xd2800541, 0xf9000001, 0xd65f03c0}

// probe runs code of three instructions in the arena, twice at different addresses. Where the
// memory cannot be written or run after all, that is the error.
func probe(a *Arena) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("code in memory of the kind %s: %v", a.How(), r)
		}
	}()
	var code []byte
	for _, w := range probeCode {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	for range 2 {
		at, err := a.Add(code)
		if err != nil {
			return err
		}
		var b image.Block
		if call(at, unsafe.Pointer(&b)); b[0] != 42 {
			return fmt.Errorf("code in memory of the kind %s gives %d, not 42", a.How(), b[0])
		}
	}
	return nil
}
