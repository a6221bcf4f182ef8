// Package devices is what the author of a plug-in imports: the interfaces of a device, the words
// they speak (kernels, launches, arguments, transfers, events, errors) and the registry of kinds.
//
// A plug-in implements Device, and Accelerator where the device has an address space of its own,
// and registers an Opener for its Kind. The interfaces behind those (Timed, Modelled, Caching,
// Linked, LaunchHelper) are optional. Package internal/machine calls the plug-in: it decides what is
// copied where and when a kernel starts, and never holds a lock while it calls. package devicetest
// checks that a plug-in keeps the contract.
package devices
