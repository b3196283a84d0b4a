package main

import (
	"fmt"
	"strings"
	"time"
)

// figures are the results of the work.
type figures struct {
	elapsed       time.Duration
	tasks, beside int64
	failed        int64
	sockets       int
}

const row = "  %-20s  %8s  %14s  %8s  %8s\n"

func printHead() { fmt.Printf(row, "go-redis over", "tasks/s", "SET and GET/s", "sockets", "failed") }

func (f figures) print(name string) {
	perSecond := func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/f.elapsed.Seconds()) }
	fmt.Printf(row, name, perSecond(f.tasks), perSecond(f.beside), fmt.Sprint(f.sockets), fmt.Sprint(f.failed))
}

// after returns the value of a field in the answer to INFO.
func after(info, name string) string {
	_, rest, _ := strings.Cut(info, name)
	return rest
}
