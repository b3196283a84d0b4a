package redis

import (
	"context"
	"iter"
	"strings"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Field is a field of a hash with its value.
type Field[T any] struct {
	Name  string
	Value T
}

// Keys iterates over the keys of a server, or of a whole cluster, with the guarantees of SCAN: a
// key that exists throughout is returned at least once; any other key may or may not be returned.
// Keys ignores opts.Key. The guarantees hold over restarts and failovers. For slots that move, see
// the Scanner of a cluster. Without permission for INFO, or with a Sender of package redisdumb,
// Keys does not notice restarts and may miss keys.
//
// With CLUSTERSCAN as opts.Cmd, which Valkey clusters have from 9.1 on, the cursor leads from node
// to node. CLUSTERSCAN finds a key even if its slot, as a whole, moves several times; SCAN may then
// miss the key. But while a slot is moved key by key, CLUSTERSCAN may miss keys of that slot; SCAN
// finds them all. Keys treats any other opts.Cmd as SCAN.
//
//	for key, err := range redis.Keys(ctx, sender, redis.ScanOpts{Match: "user:*"}) {
//
// Keys sends a request when the keys of the last reply are used up, so it holds at most one batch
// in memory, and you can leave the loop at any point. An error, for example the end of ctx, comes
// with an empty key and ends the iteration. A second loop starts over.
func Keys(ctx context.Context, s Sender, opts ScanOpts) iter.Seq2[string, error] {
	if !strings.EqualFold(opts.Cmd, "CLUSTERSCAN") {
		opts.Cmd = "SCAN"
	}
	return elements(ctx, s, opts, 1, func(key *string, batch []string) error {
		*key = batch[0]
		return nil
	})
}

// Fields iterates over the fields of the hash opts.Key, as HSCAN does. Values are
// converted as by [As]. Otherwise it behaves like [Keys].
func Fields[T any](ctx context.Context, s Sender, opts ScanOpts) iter.Seq2[Field[T], error] {
	opts.Cmd = "HSCAN"
	return elements(ctx, s, opts, 2, func(f *Field[T], batch []string) error {
		f.Name = batch[0]
		return values.Assign(&f.Value, batch[1])
	})
}

// Members iterates over the members of the set opts.Key, as SSCAN does. Otherwise it
// behaves like [Fields].
func Members[T any](ctx context.Context, s Sender, opts ScanOpts) iter.Seq2[T, error] {
	opts.Cmd = "SSCAN"
	return elements(ctx, s, opts, 1, func(member *T, batch []string) error {
		return values.Assign(member, batch[0])
	})
}

// ScoredMembers iterates over the members of the sorted set opts.Key with their scores,
// as ZSCAN does, in no particular order. Otherwise it behaves like [Fields].
func ScoredMembers[T any](ctx context.Context, s Sender, opts ScanOpts) iter.Seq2[Scored[T], error] {
	opts.Cmd = "ZSCAN"
	return elements(ctx, s, opts, 2, func(m *Scored[T], batch []string) error {
		return m.UnmarshalRedis([]any{batch[0], batch[1]})
	})
}

// elements iterates over the elements that a scanner finds. read builds each element from width
// strings.
func elements[T any](ctx context.Context, s Sender, opts ScanOpts, width int, read func(*T, []string) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		fail := func(err error) { yield(none, errs.Err(traced(withRequest(err, opts.Cmd, nil)))) }
		for it := (SyncCtx{S: s}).Scanner(ctx, opts); ; {
			batch, err := it.Next()
			switch {
			case err == ScanEOF:
				return
			case err != nil:
				fail(err)
				return
			case len(batch)%width != 0:
				fail(errs.ErrResponseUnexpected.New("scan: an element is cut off").WithProperty(errs.EKResponse, batch))
				return
			}
			for ; len(batch) > 0; batch = batch[width:] {
				var el T
				if err := read(&el, batch[:width]); err != nil {
					fail(err)
					return
				}
				if !yield(el, nil) {
					return
				}
			}
		}
	}
}
