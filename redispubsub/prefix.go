package redispubsub

import (
	"bytes"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/prefix"
)

// namePrefix is SubscriptionOpts.Prefix. The names that servers know begin with it, the user's names do
// not.
type namePrefix string

// all returns topics with the prefix, as servers know them.
func (p namePrefix) all(topics []Topic) []Topic {
	if p == "" {
		return topics
	}
	stored := make([]Topic, len(topics))
	for i, t := range topics {
		stored[i] = p.stored(t)
	}
	return stored
}

func (p namePrefix) stored(t Topic) Topic {
	space, key, isEvent := cutSpace(t.Name)
	switch {
	case isEvent: // its name has no key
	case t.Kind == KindPattern:
		t.Name = space + prefix.Prefix(p).Glob() + key
	default:
		t.Name = space + string(p) + key
	}
	return t
}

// cutSpace splits a channel name such as __keyspace@0__:key before the key. The names of keyevent
// channels contain no key: for them isEvent is true. For all other names space is empty.
func cutSpace(name string) (space, key string, isEvent bool) {
	if strings.HasPrefix(name, "__keyspace@") {
		if head, rest, ok := strings.Cut(name, "__:"); ok {
			return head + "__:", rest, false
		}
	}
	return "", name, strings.HasPrefix(name, "__keyevent@")
}

// without returns topics without the prefix, as users know them. It does not change its argument,
// because an event may return to its inbox.
func (p namePrefix) without(topics []Topic) []Topic {
	if p == "" {
		return topics
	}
	own := slices.Clone(topics)
	for i, t := range own {
		own[i].Name = p.strip(t.Name, t.Kind == KindPattern)
	}
	return own
}

func (p namePrefix) strip(name string, isPattern bool) string {
	space, key, _ := cutSpace(name)
	own := string(p)
	if isPattern {
		own = prefix.Prefix(p).Glob()
	}
	return space + strings.TrimPrefix(key, own)
}

// event returns an event without the prefix in its names. It returns false for a notification about a key
// that lacks the prefix.
func (p namePrefix) event(ev Event) (Event, bool) {
	if p == "" {
		return ev, true
	}
	switch ev := ev.(type) {
	case Message:
		if _, _, isEvent := cutSpace(ev.Channel); isEvent {
			key, own := bytes.CutPrefix(ev.Payload, []byte(p))
			ev.Payload = key
			return ev, own
		}
		ev.Channel = p.strip(ev.Channel, false)
		ev.Pattern = p.strip(ev.Pattern, true)
		return ev, true
	case Gap:
		ev.Topics = p.without(ev.Topics)
		return ev, true
	case Subscribed:
		ev.Topic.Name = p.strip(ev.Topic.Name, ev.Topic.Kind == KindPattern)
		return ev, true
	case Unsubscribed:
		ev.Topic.Name = p.strip(ev.Topic.Name, ev.Topic.Kind == KindPattern)
		return ev, true
	}
	return ev, true
}
