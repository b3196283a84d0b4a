package rediscluster_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/joomcode/redispipe/redistest/chaos"
)

// scriptedSentinel is a server that plays a sentinel of one master.
type scriptedSentinel struct {
	*chaos.ScriptedServer

	mu          sync.Mutex // guards the fields below
	master      string     // empty if the sentinel knows none
	epoch       int
	others      []string
	subscribers []*chaos.ScriptedConn
	deaf        bool // refuses SUBSCRIBE
	// silent, if not nil, holds answers back until it is closed.
	silent chan struct{}
}

func newScriptedSentinel(t *testing.T, master string, epoch int) *scriptedSentinel {
	t.Helper()
	s := &scriptedSentinel{master: master, epoch: epoch}
	s.ScriptedServer = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: s.play})
	return s
}

func (s *scriptedSentinel) play(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
	s.mu.Lock()
	silent := s.silent
	s.mu.Unlock()
	if silent != nil {
		select {
		case <-silent:
		case <-c.Done():
		}
	}
	_, err := c.Write([]byte(s.answer(c, r)))
	return err
}

func (s *scriptedSentinel) answer(c *chaos.ScriptedConn, r chaos.ScriptedRequest) (reply string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Cmd == "INFO":
		return chaos.ScriptedBulk("sentinel_tilt:0\r\n")
	case r.Cmd == "SUBSCRIBE" && s.deaf:
		return "-NOPERM no\r\n"
	case r.Cmd == "SUBSCRIBE":
		s.subscribers = append(s.subscribers, c)
		for i, channel := range r.Args {
			reply += fmt.Sprintf("*3\r\n%s%s:%d\r\n", chaos.ScriptedBulk("subscribe"), chaos.ScriptedBulk(channel), i+1)
		}
		return reply
	case s.master == "" && r.Args[0] == "GET-MASTER-ADDR-BY-NAME":
		return "*-1\r\n"
	case s.master == "":
		return "-ERR No such master with that name\r\n"
	}
	host, port := splitAddr(s.master)
	switch r.Args[0] {
	case "GET-MASTER-ADDR-BY-NAME":
		return scriptedStrings(host, port)
	case "MASTER":
		return scriptedStrings("ip", host, "port", port, "config-epoch", fmt.Sprint(s.epoch))
	case "SENTINELS":
		reply = fmt.Sprintf("*%d\r\n", len(s.others))
		for _, addr := range s.others {
			host, port := splitAddr(addr)
			reply += scriptedStrings("ip", host, "port", port)
		}
		return reply
	}
	return "*0\r\n" // REPLICAS
}

func scriptedStrings(list ...string) string {
	reply := fmt.Sprintf("*%d\r\n", len(list))
	for _, s := range list {
		reply += chaos.ScriptedBulk(s)
	}
	return reply
}

// name makes the sentinel name a master from now on, without an announcement.
func (s *scriptedSentinel) name(master string, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.master, s.epoch = master, epoch
}

// asked returns how often it was asked for its master.
func (s *scriptedSentinel) asked() (times int) {
	for _, r := range s.Requests() {
		if r.Cmd == "SENTINEL" && r.Args[0] == "MASTER" {
			times++
		}
	}
	return times
}

// publish sends an event to all subscribers, and returns their number.
func (s *scriptedSentinel) publish(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.subscribers {
		_, _ = c.Write([]byte(scriptedStrings("message", channel, "")))
	}
	return len(s.subscribers)
}

// silence holds answers back until the returned function is called.
func (s *scriptedSentinel) silence() (end func()) {
	silent := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silent = nil
		close(silent)
	}
}
