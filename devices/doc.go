// Package devices is the package that a device plug-in imports: the interfaces of a device, their
// types (kernels, launches, arguments, transfers, events, errors) and the registry of kinds.
//
// A plug-in implements Device, and Accelerator if the device has its own address space, and
// registers an Opener for its Kind. The other interfaces (Timed, Modelled, Caching, Linked,
// LaunchHelper) are optional. Package internal/machine calls the plug-in: it decides which data are
// copied where and when a kernel starts, and holds no lock during a call. Package devicetest checks
// that a plug-in fulfils the contract.
package devices
