//go:build amd64 || arm64

package main

import (
	"time"

	"github.com/gompss/gompss/devices/cuda"
)

// outcomes returns what is kept in a folder; "" is that of the user.
func outcomes(dir string) (out []outcome) {
	const digits = 10 * time.Nanosecond
	for _, o := range cuda.Outcomes(dir) {
		out = append(out, outcome{o.Name, o.Key.Device, o.Key.Class, o.Winner, o.Median.Round(digits), o.Results[0].Median.Round(digits)})
	}
	return out
}
