package redis

import (
	"context"
	"slices"
)

// Hooks calls hooks around operations that are not requests to a Sender, for packages
// that are built on this one: redispubsub calls them around Subscribe and Unsubscribe.
// What [WithHook] says of a hook holds for each of them. The zero value has no hooks.
type Hooks struct{ all []*observer }

// NewHooks returns Hooks, the outermost first.
func NewHooks(hooks ...Hook) Hooks {
	all := make([]*observer, len(hooks))
	for i, hook := range hooks {
		all[i] = &observer{Hook: hook}
	}
	return Hooks{all}
}

// Around calls f, with Before of each hook before it and After of each hook after it. f
// returns what After gets, without the Duration.
func (h Hooks) Around(ctx context.Context, op Operation, f func() Completion) {
	os := observe(ctx, h.all, op)
	end := f()
	for _, o := range slices.Backward(os) {
		end.Duration = o.Duration()
		o.End(end)
	}
}
