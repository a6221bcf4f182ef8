//go:build linux && (amd64 || arm64)

package all

import (
	_ "github.com/gompss/gompss/devices/cuda"   // NVIDIA GPUs
	_ "github.com/gompss/gompss/devices/opencl" // what has an OpenCL driver
)
