package redis

import (
	"fmt"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// String describes the request without its arguments, which may be secret: `Req("SET",
// 2 args, 1 key, 17 bytes)`. The bytes are those of the command and its arguments.
func (r Request) String() string {
	call := command.Of(r.Cmd, r.Args)
	name := commandName(&call, r.Cmd)
	size := len(strings.Replace(r.Cmd, " ", "", 1))
	for _, arg := range r.Args {
		text, _ := ArgToString(arg)
		size += len(text)
	}
	args := call.Words() - 1 - strings.Count(name, " ")
	return fmt.Sprintf("Req(%q, %s, %s, %s)", name,
		plural(args, "arg"), plural(call.CountKeys(), "key"), plural(size, "byte"))
}

// commandName is the command's name for errors and logs. Of a Cmd that is not
// in the table it shows the first word at most, and only if that looks like a
// command's name: the rest may be an argument.
func commandName(call *command.Call, cmd string) string {
	if call.Info != nil {
		return call.Name
	}
	name, _, _ := strings.Cut(cmd, " ")
	for i := range len(name) {
		b := name[i]
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && strings.IndexByte("._-", b) < 0 {
			return "?"
		}
	}
	if len(name) > maxShownName {
		return "?"
	}
	return name
}

// maxShownName is over the length of any module's command, and short of keys
// and tokens that landed in Cmd by mistake.
const maxShownName = 32

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
