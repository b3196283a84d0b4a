package send_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// Each result of a batch counts only the keys of its own request, so the cost of a result does not
// grow with the batch.
func TestManyChangesOnlyItsOwn(t *testing.T) {
	var changed []send.Changes
	f := &send.ChangingMany{
		Forward: send.Forward{To: nobody{}}, Sets: []send.Changes{{Keys: []string{"a"}}, {}, {All: true}}, Start: 7,
		Changed: func(s send.Changes) { changed = append(changed, s) },
	}
	f.Resolve("OK", 9)
	f.Resolve("OK", 7)
	f.Resolve("OK", 8)
	require.Equal(t, []send.Changes{{All: true}, {Keys: []string{"a"}}, {}}, changed)
}

type nobody struct{}

func (nobody) Resolve(any, uint64) {}
func (nobody) Cancelled() error    { return nil }
