// Package quit has a program print what it does when it gets SIGQUIT.
package quit
