// Package ledger judges what a client of any kind says of its requests while networks and servers
// fail: none may be lost, end twice, run twice, get another's reply, or be called not sent although
// it ran.
//
// A [Ledger] gives each request a number, and is told how it ended. [Lists] compare it with what
// the server ran: requests push their tags to lists, which are read at the end over a healthy
// connection. The [Report] counts the broken promises and shows some of each kind:
//
//	book := ledger.New("run1")
//	lists := ledger.NewLists(book)
//	…
//	tag, id := lists.Issue("list1")
//	n, err := client.RPush(ctx, "list1", tag).Result() // go-redis, for example
//	if err != nil {
//		book.End(id, ledger.Unknown, err)
//	} else {
//		book.End(id, ledger.Value, n)
//	}
//	…
//	report := book.Finish(time.Minute)
//	err := lists.Verify(func(key string) ([]string, error) { … LRANGE key 0 -1 … })
//	if report.Failed() {
//		t.Error(report)
//	}
//
// The ledger asks nothing of a client but its word: an error is [NotSent] only if the client promises
// that nothing ran. That it finds faults is tested with planted ones.
package ledger
