// Command typed writes package cmd, the commands as values. Run it by go generate, or with the
// binaries or the addresses (host:port) of more servers, from the directory of package cmd:
//
//	go run ../internal/command/typed redis-server /path/to/valkey-server 127.0.0.1:6379
//
// The servers' replies to COMMAND DOCS are recorded in servers, and the package is made from all
// records. rules.go, results.go and overrides.txt add what servers do not report.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/joomcode/redispipe/internal/command/live"
)

// Paths are as seen from the directory of package cmd, where go generate runs.
const home = "../internal/command/typed"

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := live.Record(filepath.Join(home, "servers"), flag.Args(), record); err != nil {
		log.Fatal(err)
	}
	if err := generate(home, "."); err != nil {
		log.Fatal(err)
	}
}

// record returns the record of a server, which describes the server's commands.
func record(server *live.Server) ([]byte, error) {
	reply, err := server.Do("COMMAND", "DOCS")
	if err != nil {
		return nil, err
	}
	return formatDocs(parseDocs(reply)), nil
}

// generate writes the package from all records.
func generate(from, to string) error {
	docs, err := readRecords(from)
	if err != nil {
		return err
	}
	p, err := newPackage(docs)
	if err != nil {
		return err
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(to, name), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
