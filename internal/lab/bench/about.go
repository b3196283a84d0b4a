package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/lab"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// aboutFile records the versions, the machine and the date.
const aboutFile = "about.md"

// about describes what was measured, where and when.
func (r *runner) about() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s; rounds: %d of %v a measurement, medians.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 MST"), r.rounds, r.duration.Round(time.Millisecond))
	fmt.Fprintf(&b, "Machine: %s, %d cores, %s/%s. %s. Redis %s on loopback.\n\n",
		cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), r.redisVersion)
	if r.loadBefore != "" {
		fmt.Fprintf(&b, "Load average before the run: %s.\n\n", r.loadBefore)
	}
	b.WriteString("| client | version | used as |\n|---|---|---|\n")
	for _, d := range r.drivers {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", d.Name, d.Version(), d.How)
	}
	return b.String()
}

// cpuModel returns the name of the processor, if the system reports it.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "unknown processor"
}

// loadAverage returns how busy the machine was with other work, if the system reports it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func (r *runner) askVersion() error {
	control, err := lab.Dial([]string{r.lab.Server()})
	if err != nil {
		return err
	}
	defer control.Close()
	r.redisVersion = control.Version()
	return nil
}

func printList(cases []Case, drivers []peer.Driver) {
	fmt.Println("Cases:")
	for _, c := range cases {
		fmt.Printf("  %-14s %s\n", c.ID, c.Text)
	}
	fmt.Println("Clients:")
	for _, d := range drivers {
		fmt.Printf("  %-16s %-10s %s\n", d.Name, d.Version(), d.How)
	}
}
