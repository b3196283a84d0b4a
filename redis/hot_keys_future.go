package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
)

// samples are the requests of a batch that are counted: one of every sampleEvery. The first one is
// chosen at random. of is nil if none is counted.
type samples struct {
	first int
	of    []sampled
}

func samplesOf(reqs []Request) (s samples) {
	for i := s.draw(); i < len(reqs); i += sampleEvery {
		s.of = append(s.of, sampleOfPlain(reqs[i]))
	}
	return s
}

func (s *samples) draw() int {
	s.first = firstSample()
	return s.first
}

// answered counts request i of the batch, if it is one of the samples.
func (s *samples) answered(k *HotKeys, i int, res any) {
	if at := i - s.first; at >= 0 && at%sampleEvery == 0 && at/sampleEvery < len(s.of) {
		k.answered(s.of[at/sampleEvery], res, replyBytes(res))
	}
}

// countingPart is the common part of the futures of counted requests.
type countingPart struct {
	send.Forward
	by *HotKeys
}

// countingFuture is the future of a counted request.
type countingFuture struct {
	countingPart
	sampled
	reply  int  // the size of the reply, if To has read it
	cached bool // no server has answered
}

// Observes implements send.Observer.
func (*countingFuture) Observes() bool { return true }

// AnsweredBy implements send.Observer.
func (f *countingFuture) AnsweredBy(at send.Server) {
	f.cached = at.Cached
	if f.Forward.Observes() {
		f.Forward.AnsweredBy(at)
	}
}

// DecodeReply implements resp.ReplyDecoder. It is called only if To implements it.
func (f *countingFuture) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	res, err := f.To.(resp.ReplyDecoder).DecodeReply(d, n)
	f.reply = d.Size()
	return res, err
}

// Resolve implements Future.
func (f *countingFuture) Resolve(res any, n uint64) {
	if !f.cached {
		if f.reply == 0 {
			f.reply = replyBytes(res)
		}
		f.by.answered(f.sampled, res, f.reply)
	}
	send.Resolve(f.To, res, n)
}

// countingMany is the future of a batch.
type countingMany struct {
	countingPart
	samples
	start uint64
}

// Resolve implements Future.
func (f *countingMany) Resolve(res any, n uint64) {
	f.answered(f.by, int(n-f.start), res)
	send.Resolve(f.To, res, n)
}

// namingMany is a countingMany whose To adds the requests to their errors itself.
type namingMany struct{ *countingMany }

// NamesRequests implements send.Namer.
func (namingMany) NamesRequests() {}

func isNamer(cb Future) bool {
	_, is := cb.(send.Namer)
	return is
}

// countingTransaction is the future of a transaction.
type countingTransaction struct {
	countingPart
	samples
}

// Resolve implements Future.
func (f *countingTransaction) Resolve(res any, n uint64) {
	results, _ := res.([]any)
	for at := range f.of {
		i := f.first + at*sampleEvery
		if i < len(results) {
			f.answered(f.by, i, results[i])
			continue
		}
		f.answered(f.by, i, res) // the error of the transaction counts for each request
	}
	send.Resolve(f.To, res, n)
}

// watchedDedicated is the connection of a session whose requests are counted.
type watchedDedicated struct {
	send.Dedicated
	by *HotKeys
}

// Exchange implements send.Dedicated.
func (d watchedDedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	var some samples
	for i := some.draw(); i < len(reqs); i += sampleEvery {
		some.of = append(some.of, sampleOf(&reqs[i]))
	}
	if some.of == nil {
		return d.Dedicated.Exchange(ctx, reqs, each)
	}
	return d.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		some.answered(d.by, i, res)
		each(i, res)
	})
}

var (
	_ send.Observer     = (*countingFuture)(nil)
	_ resp.ReplyDecoder = (*countingFuture)(nil)
)
