// Command bench measures this library beside other Redis clients, on servers
// that it starts itself. See README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/calm"
	"github.com/joomcode/redispipe/internal/lab/bench/h2h"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// docs is the directory of the published results, relative to this module.
const docs = "../../../docs/bench"

// quickBudget is how long a -quick run may take, without building it and starting the servers.
const quickBudget = 140 * time.Second

func run() error {
	var (
		quick    = flag.Bool("quick", false, "the cases that matter most, one round, within 3 minutes")
		rounds   = flag.Int("rounds", 5, "how often everything is repeated; tables show medians")
		duration = flag.Duration("time", 2*time.Second, "how long each measurement takes")
		cases    = flag.String("cases", "", "only these cases: IDs or patterns such as c*, separated by commas")
		clients  = flag.String("clients", "", "only these clients: names or patterns, separated by commas")
		out      = flag.String("out", "", "directory for tables, numbers and plots (default: docs/bench for a whole run, else print only)")
		from     = flag.String("from", "", "draw the report of an earlier results.csv again, measure nothing")
		list     = flag.Bool("list", false, "list the cases and the clients")
		faults   = flag.Bool("h2h", false, "head to head: faults instead of speed; -cases takes one pattern such as H4*")
		calmly   = flag.Bool("calm", false, "restarts and failovers; -cases takes one pattern such as restart-*-1000, or freeze")
		player   = flag.Bool("h2h-child", false, "internal: play one client's part in a fault")
		child    = flag.Bool("child", false, "internal: measure one client in one case")
		delay    = flag.String("delay", "", "internal: be a proxy with a delay, TARGET/DELAY")
	)
	flag.Parse()
	switch {
	case *child:
		return runChild(os.Stdin, os.Stdout)
	case *player:
		return h2h.RunChild(os.Stdin, os.Stdout)
	case *delay != "":
		return runDelay(*delay)
	case *calmly, *faults:
		return underFaults(*calmly, *cases, *clients, *duration)
	}
	chosenCases, err := selectCases(*cases, *quick)
	if err != nil {
		return err
	}
	chosenDrivers, err := selectDrivers(*clients)
	if err != nil {
		return err
	}
	if *list {
		printList(chosenCases, chosenDrivers)
		return nil
	}
	if *from != "" {
		return redraw(*from, *out)
	}
	if *out == "" && !*quick && *cases == "" && *clients == "" {
		*out = docs
	}
	r := &runner{
		cases: chosenCases, drivers: chosenDrivers, rounds: *rounds, duration: *duration,
		results: newResults(), log: os.Stderr, interrupted: make(chan os.Signal, 1),
	}
	if *quick {
		r.rounds = 1
		r.duration = r.durationWithin(quickBudget)
	}
	signal.Notify(r.interrupted, os.Interrupt)
	if err := r.run(); err != nil {
		return err
	}
	rep := report{Results: r.results, about: r.about()}
	fmt.Print(rep.markdown())
	return rep.write(*out)
}

// underFaults prints what faults do to each client, or what programs notice of restarts and failovers.
func underFaults(calmly bool, only, clients string, d time.Duration) error {
	if !calmly {
		return headToHead(only, clients, d)
	}
	c := calm.Config{Only: only, Clients: clients, Log: os.Stderr}
	run := c.Run
	if only == "freeze" {
		run = c.Freeze
	}
	text, err := run()
	fmt.Print(text)
	return err
}

// headToHead prints how each client reacts to faults.
func headToHead(only, clients string, d time.Duration) error {
	self, err := h2h.Self("-h2h-child")
	if err != nil {
		return err
	}
	text, err := h2h.Run(h2h.Config{Child: self, Only: only, Clients: clients, Duration: d, Log: os.Stderr})
	fmt.Print(text)
	return err
}

// redraw makes tables and plots from the figures of an earlier run.
func redraw(from, out string) error {
	results, err := readCSV(from)
	if err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(filepath.Dir(from), aboutFile))
	if err != nil {
		return err
	}
	rep := report{Results: results, about: string(about)}
	fmt.Print(rep.markdown())
	return rep.write(out)
}
