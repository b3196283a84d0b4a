package testbed

import "testing"

// bed is what is started for a test.
type bed interface {
	Close()
	started() []*Server
}

// forTest starts a bed, and closes it when the test is over. It fails the test on an
// error, and shows the logs of a test that fails. opts are none, for the defaults, or one.
func forTest[B bed, O any](t testing.TB, start func(O) (B, error), opts []O) B {
	t.Helper()
	if len(opts) > 1 {
		t.Fatalf("testbed: give one %T at most", opts[0])
	}
	var o O
	if len(opts) == 1 {
		o = opts[0]
	}
	b, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range b.started() {
				t.Logf("log of the server at %s:\n%s", s.Addr(), s.Log())
			}
		}
		b.Close()
	})
	return b
}
