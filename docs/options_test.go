package docs_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// TestOptions checks that the tables of options.md have each option, and name none that is
// not there.
func TestOptions(t *testing.T) {
	text, err := os.ReadFile("options.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[title] = body
	}
	for _, table := range []struct {
		sections []string
		types    []reflect.Type
	}{
		{[]string{"What everybody sets", "Connections"}, []reflect.Type{reflect.TypeFor[redisconn.Opts]()}},
		{[]string{"Clusters"}, []reflect.Type{reflect.TypeFor[rediscluster.Opts]()}},
		{[]string{"Subscribers"}, []reflect.Type{reflect.TypeFor[redispubsub.Opts](), reflect.TypeFor[redispubsub.SubscriptionOpts]()}},
	} {
		options := map[string]bool{} // by name, whether a table has it
		for _, typ := range table.types {
			for _, field := range reflect.VisibleFields(typ) {
				options[field.Name] = false
			}
		}
		for _, title := range table.sections {
			for _, name := range firstColumn(sections[title]) {
				if _, known := options[name]; !known {
					t.Errorf("%s: there is no option %s", title, name)
				}
				options[name] = true
			}
		}
		for name, shown := range options {
			if !shown {
				t.Errorf("%s: no table has the option %s", table.sections, name)
			}
		}
	}
}

// firstColumn returns the names in the first column of a table.
func firstColumn(text string) (names []string) {
	for line := range strings.Lines(text) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			cell, _, _ = strings.Cut(cell, " |")
			names = append(names, regexp.MustCompile(`[A-Z]\w+`).FindAllString(cell, -1)...)
		}
	}
	return names
}
