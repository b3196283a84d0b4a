// Command typed writes package cmd, the commands as values. Run it by go generate, or with the
// binaries or the addresses (host:port) of more servers, from the directory of package cmd:
//
//	go run ../internal/command/typed redis-server /path/to/valkey-server 127.0.0.1:6379
//
// What a server's COMMAND DOCS replies is recorded in servers, and the package is made of all
// records. What servers do not say stands in rules.go, results.go and overrides.txt.
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
	for _, target := range flag.Args() {
		if err := record(target); err != nil {
			log.Fatalf("%s: %v", target, err)
		}
	}
	if err := generate(home, "."); err != nil {
		log.Fatal(err)
	}
}

// record asks a server for its commands and writes them down.
func record(target string) error {
	server, err := live.Open(target)
	if err != nil {
		return err
	}
	defer server.Close()
	version, err := server.Version()
	if err != nil {
		return err
	}
	reply, err := server.Do("COMMAND", "DOCS")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "servers", version+".txt"), formatDocs(parseDocs(reply)), 0o644)
}

// generate writes the package of all records.
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
