package inbox

// queue holds events in order and within bounds. It has three parts:
//
//   - front holds the events before the first message.
//   - messages holds the messages, and in between the other events.
//   - tail holds the events after the last message. They may still be merged.
type queue struct {
	mostMessages, mostBytes int
	messageOf               func(ev any) (m Message, ok bool)

	front, tail    run
	messages       []any
	head           int // index in messages; the events before it were taken
	counted, bytes int // the number and total size of the messages that count towards the bounds
}

func (q *queue) fits(size int) bool {
	return q.counted == 0 || q.counted < q.mostMessages && q.bytes+size <= q.mostBytes
}

// push adds a message after the tail.
func (q *queue) push(msg any, size int) {
	if q.head > 0 && len(q.messages)+len(q.tail.events) >= cap(q.messages) && q.head >= len(q.messages)/2 {
		n := copy(q.messages, q.messages[q.head:])
		clear(q.messages[n:])
		q.messages, q.head = q.messages[:n], 0
	}
	q.messages = appendRun(q.messages, &q.tail)
	q.messages = append(q.messages, msg)
	q.counted++
	q.bytes += size
}

// appendRun appends the events of a run to a list, and empties the run.
func appendRun(list []any, r *run) []any {
	if len(r.events) == 0 {
		return list
	}
	list = r.appendTo(list)
	if len(r.events) > batchMost { // a map stays large, so clearing it would take long each time
		r.events = nil
	}
	clear(r.events)
	return list
}

// pop takes the first event of messages.
func (q *queue) pop() (ev any) {
	ev = q.messages[q.head]
	q.messages[q.head] = nil
	if q.head++; q.head == len(q.messages) {
		q.messages, q.head = q.messages[:0], 0
	}
	return ev
}

// evict drops the oldest messages until size more bytes fit. It calls dropped for each of them, to
// add it to a gap in front.
func (q *queue) evict(size int, dropped func(m Message)) {
	for q.head < len(q.messages) && !q.fits(size) {
		ev := q.pop()
		if m, ok := q.messageOf(ev); ok {
			q.release(1, m.Size())
			dropped(m)
		} else {
			q.front.add(ev)
		}
	}
}

// release frees the room that messages took.
func (q *queue) release(counted, bytes int) {
	q.counted -= counted
	q.bytes -= bytes
}

// take appends the next events to batch, up to about most messages or mostBytes bytes. counted and bytes
// are the number and total size of the taken messages, to be released when they are used up.
func (q *queue) take(batch []any, most, mostBytes int) (taken []any, counted, bytes int) {
	batch = appendRun(batch, &q.front)
	for q.head < len(q.messages) && counted < most && bytes <= mostBytes {
		ev := q.pop()
		if m, ok := q.messageOf(ev); ok {
			counted++
			bytes += m.Size()
		}
		batch = append(batch, ev)
	}
	if q.head == len(q.messages) {
		batch = appendRun(batch, &q.tail)
	}
	return batch, counted, bytes
}
