package codegen

import "flag"

// update rewrites golden files.
var update = flag.Bool("update", false, "rewrite the golden files")
