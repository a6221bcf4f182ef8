package lower

import (
	"strconv"
)

func launchName(kernel string, n int) string { return kernel + "_" + strconv.Itoa(n) }
