// Command gen writes the table of package command. Run it by go generate, or
// with the binaries or the addresses (host:port) of more servers:
//
//	go run ./gen redis-server /path/to/valkey-server 127.0.0.1:6379
//
// A server's replies to COMMAND and COMMAND DOCS are recorded in gen/servers, in a file named after
// the server and its version. The table is made from all records there, so that it keeps the
// commands of servers that are not available now. To forget a version, delete its record. The
// record of modules' commands, modules.txt, is written by hand. It lists only those whose keys or
// reads differ from the assumptions for a command that is not in the table.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/joomcode/redispipe/internal/command/live"
)

// Paths are as seen from the package's directory, where go generate runs.
const (
	recordDir = "gen/servers"
	tableFile = "table_gen.go"
)

func main() {
	log.SetFlags(0)
	if err := live.Record(recordDir, os.Args[1:], record); err != nil {
		log.Fatal(err)
	}
	if err := generate(); err != nil {
		log.Fatal(err)
	}
}

// record returns the record of a server. It lists the server's commands, and their arguments that are
// durations.
func record(server *live.Server) ([]byte, error) {
	reply, err := server.Do("COMMAND")
	if err != nil {
		return nil, err
	}
	commands, err := parseReply(reply)
	if err != nil {
		return nil, err
	}
	docs, err := server.Do("COMMAND", "DOCS")
	if err != nil {
		return nil, err
	}
	addTimes(commands, docs)
	return formatRecord(commands), nil
}

// generate makes the table from all records.
func generate() error {
	m, err := readRecords()
	if err != nil {
		return err
	}
	source, err := m.source()
	if err != nil {
		return err
	}
	return os.WriteFile(tableFile, source, 0o644)
}

func readRecords() (*merger, error) {
	files, err := filepath.Glob(filepath.Join(recordDir, "*.txt"))
	if err != nil {
		return nil, err
	}
	m := &merger{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := m.add(filepath.Base(file), text); err != nil {
			return nil, err
		}
	}
	return m, nil
}
