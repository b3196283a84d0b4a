package redismirror

import "github.com/joomcode/redispipe/internal/send"

// sessionless tells package redis why a Mirror has no sessions.
type sessionless struct{}

var _ send.Sessionless = sessionless{}

// WhyNoSessions implements send.Sessionless.
func (sessionless) WhyNoSessions() string {
	return "it can't repeat what a session or Watch does on the other database, so use none while you move"
}

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		m, known := sender.(*Mirror)
		if !m.opened() {
			return nil, known
		}
		if m.encoded != nil {
			return m.encoded, true
		}
		return sessionless{}, true
	})
}
