//go:build !unix

package task_test

import "testing"

func mapped(_ *testing.T, n int) []uint32 { return make([]uint32, n) }
