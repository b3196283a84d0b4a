package subscriptions

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// NewSet returns a set without topics.
func (t *Table) NewSet(in *inbox.Inbox, on NodeSet) *Set {
	s := &Set{t: t, Inbox: in, On: on, owns: in.Blocks(), members: map[pubsub.Topic][]*Member{}}
	t.sets[s] = struct{}{}
	return s
}

// Sets returns the number of open sets.
func (t *Table) Sets() int { return len(t.sets) }

// Topics returns the topics, confirmed or not, in no particular order.
func (s *Set) Topics() []pubsub.Topic { return slices.Collect(maps.Keys(s.members)) }

// Close removes all topics.
func (s *Set) Close() {
	delete(s.t.sets, s)
	s.remove(s.Topics(), errRemoved())
}

// End ends all sets, and their gaps.
func (t *Table) End(err error) {
	for s := range t.sets {
		s.remove(s.Topics(), err)
		s.Inbox.End(err)
	}
	clear(t.sets)
}

// Closed reports whether the set was closed, or has ended.
func (s *Set) Closed() bool {
	_, open := s.t.sets[s]
	return !open
}

// Add adds topics to the set, and returns the answers to wait for. The answers for one topic are next to
// each other.
func (s *Set) Add(topics []pubsub.Topic) (answers []*Answer, err error) {
	s.t.look()
	nodes, _ := s.nodes()
	if len(nodes) == 0 {
		return nil, pubsub.ErrNoNodes.New("no node is known")
	}
	asked := map[pubsub.Topic]struct{}{}
	for _, t := range topics {
		if _, twice := asked[t]; twice {
			continue
		}
		asked[t] = struct{}{}
		if s.members[t] == nil {
			for _, node := range nodes {
				m := s.newMember(t, node, time.Now())
				m.answer = &Answer{Topic: t, Done: make(chan struct{}), of: m}
				answers = append(answers, m.answer)
				m.join()
			}
			continue
		}
		for _, m := range s.members[t] {
			if m.answer != nil { // another call waits for the same topic
				answers = append(answers, m.answer)
			}
		}
	}
	for _, a := range answers {
		a.calls++
	}
	return answers, nil
}

// nodes returns the nodes on which the topics of the set must be subscribed; a nil node means any node
// that has the topic. known is the last time when the previous topology was known to be valid.
func (s *Set) nodes() (nodes []backend.Node, known time.Time) {
	if s.On == OneNode {
		return []backend.Node{nil}, known
	}
	nodes, replicas, known := s.t.nodes.All()
	if s.On == AllNodes {
		for _, node := range replicas { // while nodes disagree, a server may be in two roles, or have two masters
			if !slices.ContainsFunc(nodes, func(other backend.Node) bool { return other.Addr() == node.Addr() }) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes, known
}

// GiveUp is called by a call of Subscribe that stops waiting for answers. It removes the unanswered
// topics, unless another call waits for them. It returns the address of a node that has answered.
func (s *Set) GiveUp(answers []*Answer) (addr string) {
	var topics []pubsub.Topic
	for _, a := range answers {
		addr = cmp.Or(a.Addr, addr)
		if a.calls--; a.calls == 0 && a.of.answer == a {
			topics = append(topics, a.Topic)
		}
	}
	s.remove(topics, errRemoved())
	return addr
}

// Remove removes topics. It returns channels that are closed when the servers have confirmed, and the
// address of one of the servers.
func (s *Set) Remove(topics []pubsub.Topic) (left []<-chan struct{}, addr string) {
	for _, t := range s.remove(topics, errRemoved()) {
		left, addr = append(left, t.left()), t.feed.Node.Addr()
	}
	return left, addr
}

// errRemoved returns the error of a call that waits for a topic that the user removes.
func errRemoved() error { return pubsub.ErrClosed.New("unsubscribed") }

// remove removes topics. Calls that wait for these topics return err. remove returns the topics that are
// no longer requested and must be unsubscribed.
func (s *Set) remove(topics []pubsub.Topic, err error) (unwanted []*topic) {
	for _, t := range topics {
		for _, m := range s.members[t] {
			m.answered(nil, err)
			if top := m.leave(nil); top.isOnFeed() && len(top.members) == 0 {
				unwanted = append(unwanted, top)
			}
		}
		delete(s.members, t)
	}
	return unwanted
}

// follow moves the set to the present nodes. It opens a gap for a new node, because the set may have
// missed earlier messages of that node, and for a node that has left, because its last messages may not
// have arrived. While no node is known, the set stays where it is.
func (s *Set) follow() {
	nodes, known := s.nodes()
	if len(nodes) == 0 {
		if s.unknown.IsZero() {
			s.unknown = known
		}
		return
	}
	if !s.unknown.IsZero() {
		known, s.unknown = s.unknown, time.Time{}
	}
	for t, members := range s.members {
		reason, missing, made := inbox.SlotMoved, slices.Clone(nodes), time.Now()
		var kept []*Member
		for _, m := range members {
			if m.Intake.Made().Before(made) {
				made = m.Intake.Made()
			}
			if i := slices.Index(missing, m.key.node); i >= 0 {
				missing, kept = slices.Delete(missing, i, i+1), append(kept, m)
				continue
			}
			reason = inbox.Failover
			s.t.topics[m.key].openGaps(reason, nil)
			m.answered(nil, nil)
			m.leave(nil)
		}
		s.members[t] = kept
		since := known
		if since.Before(made) {
			since = made // messages before the request do not count as missing
		}
		for _, node := range missing {
			m := s.newMember(t, node, made)
			m.Intake.Miss(since, reason)
			m.join()
		}
	}
}

// newMember adds a member to the set. made is the time when the user requested the topic.
func (s *Set) newMember(t pubsub.Topic, node backend.Node, made time.Time) *Member {
	k := key{Topic: t, node: node}
	switch {
	case s.owns:
		k.owner = s
	case node != nil:
		k.owner = s.t.everywhere
	}
	m := &Member{Set: s, key: k, Intake: s.Inbox.NewIntake(k.source(), made)}
	s.members[t] = append(s.members[t], m)
	return m
}

// join adds a member to its topic.
func (m *Member) join() {
	t := m.Set.t
	top := t.topics[m.key]
	if top == nil {
		top = &topic{t: t, key: m.key}
		t.topics[m.key] = top
	}
	top.members = append(slices.Clip(top.members), m)
	if top.feed == nil {
		top.place()
	} else {
		top.settle()
	}
}

// leave removes a member from its topic, and returns the topic. err is the server's refusal, or nil: see
// Intake.Remove.
func (m *Member) leave(err error) *topic {
	m.Intake.Remove(time.Now(), err)
	t := m.Set.t
	top := t.topics[m.key]
	top.members = slices.DeleteFunc(slices.Clone(top.members), func(other *Member) bool { return other == m })
	if len(top.members) == 0 {
		delete(t.topics, top.key)
		delete(t.delayed, top)
		for _, old := range slices.Clone(t.leaving[top.key]) { // also unsubscribe the topic on its former nodes
			old.hasLeft()
		}
		top.settle()
	}
	return top
}

// refuse removes a topic of the set on all nodes, because one node has refused it: by.
func (m *Member) refuse(by backend.Node, err error) {
	m.answered(by, err)
	t := m.key.Topic
	for _, each := range m.Set.members[t] {
		each.answered(nil, nil)
		each.leave(err)
	}
	delete(m.Set.members, t)
}

// answered ends the waits of all calls for the answer to m. by is the node that has answered; nil if no
// node has.
func (m *Member) answered(by backend.Node, err error) {
	a := m.answer
	if a == nil {
		return
	}
	if by != nil {
		a.Addr = by.Addr()
	}
	a.Err, m.answer = err, nil
	close(a.Done)
}
