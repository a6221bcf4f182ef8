// Package quit lets a program print its state when the process receives SIGQUIT.
package quit
