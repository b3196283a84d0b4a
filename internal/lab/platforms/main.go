// Program platforms type-checks packages and their tests for several platforms, as go vet would, but
// reads everything from source: compiling the standard library for each platform takes far longer.
//
//	platforms "linux/386 windows/amd64" ./...
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, `usage: platforms "GOOS/GOARCH…" PACKAGES…`)
		os.Exit(2)
	}
	files := newSources()
	failed := false
	for _, platform := range strings.Fields(os.Args[1]) {
		faults, err := check(files, platform, os.Args[2:])
		if err != nil {
			faults = append(faults, err)
		}
		for _, fault := range faults {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, fault)
		}
		if failed = failed || len(faults) > 0; len(faults) == 0 {
			fmt.Println(platform + ": no faults")
		}
	}
	if failed {
		os.Exit(1)
	}
}
