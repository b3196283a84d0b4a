package h2h

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// Config says which scenarios to run.
type Config struct {
	// Child is the command line of a child process. It must call RunChild.
	Child []string
	// Only is a pattern of scenarios, such as H1 or H5*. Empty means all.
	Only string
	// Clients are names, separated by commas. Empty means all.
	Clients string
	// Duration is how long a scenario takes, if that can be chosen.
	Duration time.Duration
	// Log gets progress.
	Log io.Writer
}

// Run runs the scenarios and returns a Markdown report.
func Run(c Config) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s; `GOMAXPROCS` as it comes.\n\n", time.Now().UTC().Format("2006-01-02"))
	b.WriteString(versions())
	for _, s := range scenarios() {
		if ok, err := path.Match(c.Only, s.id); err != nil {
			return "", err
		} else if c.Only != "" && !ok {
			continue
		}
		fmt.Fprintf(&b, "\n**%s** %s\n\n", s.id, s.text)
		head := append([]string{"client", "settings"}, s.columns...)
		b.WriteString("| " + strings.Join(head, " | ") + " |\n|---|---" + strings.Repeat("|---:", len(s.columns)) + "|\n")
		for _, e := range entries() {
			if s.sentinel && !e.sentinel || s.oursOnly && e.name != redispipe.name || !c.wants(e.name) {
				continue
			}
			for _, safest := range []bool{false, true} {
				if safest && e.safest == "" {
					continue
				}
				row, err := c.play(s, e, safest)
				if err != nil {
					return "", fmt.Errorf("%s %s: %w", s.id, e.name, err)
				}
				b.WriteString(row)
				fmt.Fprint(c.Log, s.id, " ", row)
			}
		}
	}
	return b.String(), nil
}

func (c Config) wants(name string) bool {
	if c.Clients == "" {
		return true
	}
	for p := range strings.SplitSeq(c.Clients, ",") {
		if ok, _ := path.Match(strings.TrimSpace(p), name); ok {
			return true
		}
	}
	return false
}

// versions lists the compared clients with their versions.
func versions() string {
	found := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			found[m.Path] = m.Version
			if m.Replace != nil {
				found[m.Path] = "this tree"
			}
		}
	}
	var b strings.Builder
	b.WriteString("| client | version | safest settings |\n|---|---|---|\n")
	for _, e := range entries() {
		safest := e.safest
		if safest == "" {
			safest = "none to be had"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.name, found[e.module], safest)
	}
	return b.String()
}

// play runs one scenario with one client, and returns a row of the table.
func (c Config) play(s scenario, e entry, safest bool) (string, error) {
	st, err := s.stage()
	if err != nil {
		return "", err
	}
	defer st.close()
	j := job{
		Scenario: s.id, Subject: e.name, Direct: st.direct, Duration: s.duration(c),
		Target: target{Addr: st.addr, Sentinels: st.sentinels, Safest: safest},
	}
	f, died := c.child(j, st)
	if st.score != nil && died == "" {
		st.score(&f)
	}
	settings := "defaults"
	if safest {
		settings = "safest"
	}
	row := []string{e.name, settings}
	for i, col := range s.columns {
		switch v, ok := f.Values[col]; {
		case ok:
			row = append(row, v)
		case i == 0 && died != "":
			row = append(row, died)
		default:
			row = append(row, "–")
		}
	}
	return "| " + strings.Join(row, " | ") + " |\n", nil
}

// child runs one process. It returns the finding, and how the process died if it did.
func (c Config) child(j job, st *stage) (f finding, died string) {
	f.Values = map[string]string{}
	input, err := json.Marshal(j)
	if err != nil {
		return f, err.Error()
	}
	cmd := exec.Command(c.Child[0], c.Child[1:]...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return f, err.Error()
	}
	if err := cmd.Start(); err != nil {
		return f, err.Error()
	}
	// A hung process is killed a minute after it should have ended.
	watchdog := time.AfterFunc(j.Duration+time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	done := make(chan struct{})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			continue // the client has printed this line
		}
		switch {
		case ev.Ready && st.fault != nil:
			go st.fault(done)
		case ev.Finding != nil:
			f = *ev.Finding
		}
	}
	err = cmd.Wait()
	close(done)
	if err == nil {
		return f, ""
	}
	return f, death(err, stderr.String())
}

// death describes how a process ended.
func death(err error, stderr string) string {
	for _, sign := range []struct{ text, name string }{
		{"out of memory", "died: out of memory"}, {"cannot allocate", "died: out of memory"},
		{"stack overflow", "died: stack overflow"}, {"exceeds 1000000000-byte limit", "died: stack overflow"},
		{"panic:", "died: panic"}, {"fatal error:", "died: fatal error"}, {"makeslice", "died: panic"},
	} {
		if strings.Contains(stderr, sign.text) {
			return sign.name
		}
	}
	if strings.Contains(err.Error(), "killed") {
		return "hung, killed"
	}
	return strings.Split(strings.TrimSpace(stderr)+"\n", "\n")[0]
}

// Self returns the command line that runs this program with the given flag.
func Self(flag string) ([]string, error) {
	exe, err := os.Executable()
	return []string{exe, flag}, err
}
