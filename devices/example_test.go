package devices_test

import (
	"fmt"

	"github.com/gompss/gompss/devices"
)

func ExampleParseBytes() {
	n, err := devices.ParseBytes("64MiB")
	fmt.Println(int64(n), err)
	// Output: 67108864 <nil>
}

func ExampleParseSpec() {
	list, err := devices.ParseSpec("smp:2,sim:4(memory=64MiB)")
	for _, c := range list {
		fmt.Println(c.Kind, c.Count)
	}
	fmt.Println(err)
	// Output:
	// smp 2
	// sim 4
	// <nil>
}

func ExampleParseRate() {
	n, err := devices.ParseRate("20GB/s")
	fmt.Println(int64(n), err)
	// Output: 20000000000 <nil>
}
