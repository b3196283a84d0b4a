package memserver

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// unordered writes the elements of an unordered reply in a pseudo-random order, which is always the
// same for the same elements.
func unordered(c *call) bool {
	cmd, stride := c.cmd, 1
	switch cmd {
	case "HVALS":
		cmd, stride = "HGETALL", 2
	case "HGETALL":
		stride = 2
	case "PUBSUB":
		if len(c.args) == 0 || !strings.EqualFold(c.args[0], "CHANNELS") {
			return false
		}
	}
	value, err := c.ask(cmd, c.args...)
	all, is := value.([]any)
	if err != nil || !is {
		return false
	}
	items := shuffle(texts(all), stride)
	switch c.cmd {
	case "HGETALL":
		c.WriteMapLen(len(items))
	case "SMEMBERS", "SINTER", "SUNION", "SDIFF":
		c.WriteSetLen(len(items))
	default:
		c.WriteLen(len(items))
	}
	for _, item := range items {
		if c.cmd == "HVALS" {
			item = item[1:]
		}
		for _, text := range item {
			c.WriteBulk(text)
		}
	}
	return true
}

// shuffle divides values into items of stride values each, and orders the items by the place of
// their first value. The result is never in sorted order.
func shuffle(values []string, stride int) [][]string {
	items := slices.Collect(slices.Chunk(values, stride))
	byName := func(a, b []string) int { return cmp.Compare(a[0], b[0]) }
	slices.SortFunc(items, func(a, b []string) int { return cmp.Or(cmp.Compare(place(a[0]), place(b[0])), byName(a, b)) })
	if slices.IsSortedFunc(items, byName) {
		slices.Reverse(items)
	}
	return items
}

// place returns the position of an element in its hash table. It is pseudo-random, always the same,
// and not 0.
func place(element string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(element))
	x := h.Sum64()
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	return x>>16 | 1
}

const scanCount = 10 // elements on a page without COUNT

// onePage is the size up to which a collection is returned on one page, no matter what COUNT is.
var onePage = map[string]int{"HSCAN": 512, "SSCAN": 128, "ZSCAN": 128}

// scan writes a page of COUNT elements, filtered by MATCH and TYPE. The cursor is the place of the next
// element, so an element that exists during the whole iteration is found.
func scan(c *call) bool {
	at := 1 // index of the cursor in the arguments
	if c.cmd == "SCAN" {
		at = 0
	}
	if len(c.args) <= at {
		return false
	}
	cursor, err := strconv.ParseUint(c.args[at], 10, 64)
	if err != nil {
		return false
	}
	count, plain := scanCount, slices.Clone(c.args[:at])
	plain = append(plain, "0")
	filtered, filters, names := slices.Clone(plain), false, false
	for opts := c.args[at+1:]; len(opts) > 0; {
		opt := strings.ToUpper(opts[0])
		if opt == "NOVALUES" && c.cmd == "HSCAN" {
			names, opts = true, opts[1:]
			continue
		}
		switch {
		case len(opts) < 2:
			return false
		case opt == "COUNT":
			if count, err = strconv.Atoi(opts[1]); err != nil || count < 1 {
				return false
			}
		default:
			filtered, filters = append(filtered, opt, opts[1]), true
		}
		opts = opts[2:]
	}
	all, ok := c.elements(plain)
	kept, ok2 := all, true
	if filters {
		kept, ok2 = c.elements(filtered)
	}
	if !ok || !ok2 {
		return false
	}
	if len(all) <= onePage[c.cmd] {
		count = len(all)
	}
	page, next := pageOf(all, cursor, count)
	c.writePage(page, next, kept, names)
	return true
}

// elements returns the elements for SCAN, HSCAN, SSCAN or ZSCAN, in the order of their places.
func (c *call) elements(args []string) ([][]string, bool) {
	stride := 1
	if c.cmd == "HSCAN" || c.cmd == "ZSCAN" {
		stride = 2
	}
	value, err := c.ask(c.cmd, args...)
	reply, _ := value.([]any)
	if err != nil || len(reply) != 2 {
		return nil, false
	}
	values, _ := reply[1].([]any)
	items := slices.Collect(slices.Chunk(texts(values), stride))
	slices.SortFunc(items, func(a, b []string) int { return cmp.Compare(place(a[0]), place(b[0])) })
	return items, true
}

// pageOf returns the elements from cursor on, and the next cursor. Elements with the same place are
// on the same page.
func pageOf(all [][]string, cursor uint64, count int) (page [][]string, next uint64) {
	from, _ := slices.BinarySearchFunc(all, cursor, func(item []string, at uint64) int { return cmp.Compare(place(item[0]), at) })
	to := min(from+count, len(all))
	for to > from && to < len(all) && place(all[to][0]) == place(all[to-1][0]) {
		to++
	}
	if to < len(all) {
		next = place(all[to][0])
	}
	return all[from:to], next
}

// writePage writes the filtered elements of a page. If names is set, it writes only the names of
// fields.
func (c *call) writePage(page [][]string, next uint64, kept [][]string, names bool) {
	keep := map[string]bool{}
	for _, item := range kept {
		keep[item[0]] = true
	}
	page = slices.DeleteFunc(slices.Clone(page), func(item []string) bool { return !keep[item[0]] })
	for i := range page {
		if names {
			page[i] = page[i][:1]
		}
	}
	c.WriteLen(2)
	c.WriteBulk(strconv.FormatUint(next, 10))
	c.WriteStrings(slices.Concat(page...))
}
