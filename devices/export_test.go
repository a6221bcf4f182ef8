package devices

// ParseSpec is parseSpec.
var ParseSpec = parseSpec

// EachGranules is eachGranules.
var EachGranules = eachGranules
