// Package ledger checks what any client reports about its requests while networks and servers fail:
// no request may be lost, end twice, run twice, get another request's reply, or be reported as not
// sent although it ran.
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
// The ledger holds a client only to its own promises: record an error as [NotSent] only if the client
// promises that nothing ran. The package's tests plant faults and check that the ledger finds them.
package ledger
