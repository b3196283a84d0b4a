package command

import "strings"

// ShownName is the command's name for errors and logs. Of a Cmd that is not in the table
// it shows the first word at most, and only if that looks like a command's name: the rest
// may be an argument.
func (c *Call) ShownName(cmd string) string {
	if c.Info != nil {
		return c.Name
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
