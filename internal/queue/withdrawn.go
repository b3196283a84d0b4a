package queue

import "github.com/joomcode/redispipe/internal/wire"

// withdraw marks the item of a sequence number as withdrawn, if it is there.
func (b *Batch) withdraw(seq uint64) bool {
	i := b.find(seq)
	if i == len(b.Items) {
		return false
	}
	it := &b.Items[i]
	if it.Seq != seq || it.withdrawn || it.pinned {
		return false
	}
	it.withdrawn, it.Future = true, nil
	b.withdrawn++
	b.gone += it.end - b.begin(i)
	return true
}

// goneLeast is how many bytes of withdrawn requests a batch may hold, whatever
// its size: removing them takes a copy of the rest.
const goneLeast = 64 << 10

// worthCompacting reports whether enough of the batch is withdrawn for a copy of the
// rest to be worth it: no more bytes are copied than are freed.
func (b *Batch) worthCompacting() bool {
	return b.withdrawn == len(b.Items) || b.gone > max(goneLeast, len(b.Buf)/2)
}

// compact removes what is withdrawn.
func (b *Batch) compact() {
	kept, size, end := b.Items[:0], 0, 0
	for _, it := range b.Items {
		begin := end
		end = it.end
		if it.withdrawn {
			continue
		}
		it.Start -= begin - size
		size += copy(b.Buf[size:], b.Buf[begin:end])
		it.end = size
		kept = append(kept, it)
	}
	clear(b.Items[len(kept):])
	b.Items, b.Buf = kept, b.Buf[:size]
	b.withdrawn, b.gone = 0, 0
}

// cancelled marks what is cancelled as withdrawn, and returns it. Nothing is marked
// before all are asked, as a future may end the goroutine.
func (b *Batch) cancelled() (items []Item) {
	var at []int
	for i, it := range b.Items {
		if !it.withdrawn && !it.pinned && it.Future != nil && wire.IsCancelled(it.Future) {
			at = append(at, i)
		}
	}
	for _, i := range at {
		gone := b.Items[i]
		if gone.Plain && gone.Stat == nil { // its bytes are removed
			gone.Stat = &Stat{Req: b.Request(i)}
		}
		items = append(items, gone)
		b.Items[i].withdrawn = true
		b.withdrawn++
	}
	return items
}
