package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRunsTwice(t *testing.T) {
	for line, want := range map[string][2]bool{
		"GET k":                {true, true},
		"get k":                {true, true},
		"PING":                 {true, true},
		"OBJECT ENCODING k":    {true, true},
		"SCAN 0":               {true, true},
		"EVAL_RO x 0":          {true, true},
		"XREAD STREAMS a 0":    {true, true},
		"SET k v":              {false, true},
		"SET k v EX 1":         {false, true},
		"SET k NX":             {false, true},
		"SET k v EX 1 nx":      {false, false},
		"SET k v GET":          {false, false},
		"SET k v IFEQ w":       {false, false},
		"SETNX k v":            {false, false},
		"HSET h f v":           {false, true},
		"DEL k":                {false, true},
		"EXPIREAT k 9":         {false, true},
		"EXPIREAT k 9 GT":      {false, false},
		"EXPIRE k 9":           {false, false},
		"ZADD z 1 a":           {false, true},
		"ZADD z INCR 1 a":      {false, false},
		"INCR n":               {false, false},
		"LPUSH l a":            {false, false},
		"XADD s * f v":         {false, false},
		"LPOP l":               {false, false},
		"EVAL x 0":             {false, false},
		"PUBLISH c m":          {false, false},
		"XREADGROUP GROUP g c": {false, false},
		"NOSUCH k":             {false, false},
	} {
		words := strings.Fields(line)
		args := make([]any, len(words)-1)
		for i, word := range words[1:] {
			args[i] = word
		}
		call := Of(words[0], args)
		assert.Equal(t, want, [2]bool{call.RunsTwice(false), call.RunsTwice(true)}, line)
		code := words[0] == "EVAL" || words[0] == "NOSUCH"
		assert.Equal(t, code, call.RunsCode(), line)
	}
}
