package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rewrite inserts a stop before each statement, also in nested blocks, and changes nothing else.
func TestRewrite(t *testing.T) {
	const src = `package p // of nothing

import "fmt"

func f(c chan int) (n int) {
	defer func() { n++ }()
loop:
	for {
		switch x := <-c; {
		case x > 1:
			fallthrough
		case x > 0:
			if x == 7 {
				break loop
			} else if x == 8 {
				fmt.Println()
			}
		}
		select {
		case c <- 1:
			return 1
		default:
		}
	}
	return 2
}
`
	const want = `package p

import stophere "github.com/joomcode/redispipe/internal/lab/stops/stop"

// of nothing

import "fmt"

func f(c chan int) (n int) {
	stophere.Here()
	defer func() { stophere.Here(); n++ }()
	stophere.Here()
loop:
	for {
		stophere.Here()
		switch x := <-c; {
		case x > 1:
			stophere.Here()
			fallthrough
		case x > 0:
			stophere.Here()
			if x == 7 {
				stophere.Here()
				break loop
			} else if x == 8 {
				stophere.Here()
				fmt.Println()
			}
		}
		stophere.Here()
		select {
		case c <- 1:
			stophere.Here()
			return 1
		default:
		}
	}
	stophere.Here()
	return 2
}
`
	got, n, err := rewrite("p.go", []byte(src))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
	require.Equal(t, 11, n)
	_, _, err = rewrite("p.go", []byte("package"))
	require.Error(t, err)
}
