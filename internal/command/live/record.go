package live

import (
	"fmt"
	"os"
	"path/filepath"
)

// Record connects to each target, see [Open], and writes a file to dir with the result of format.
// The server and its version name the file.
func Record(dir string, targets []string, format func(*Server) ([]byte, error)) error {
	for _, target := range targets {
		if err := record(dir, target, format); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return nil
}

func record(dir, target string, format func(*Server) ([]byte, error)) error {
	server, err := Open(target)
	if err != nil {
		return err
	}
	defer server.Close()
	version, err := server.Version()
	if err != nil {
		return err
	}
	text, err := format(server)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, version+".txt"), text, 0o644)
}

// Pairs makes a map of a list in which names and values alternate.
func Pairs(list any) map[string]any {
	m := make(map[string]any)
	items, _ := list.([]any)
	for i := 1; i < len(items); i += 2 {
		m[items[i-1].(string)] = items[i]
	}
	return m
}
