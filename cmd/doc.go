// Package cmd has a function for each command of Redis and Valkey. The function takes the command's
// arguments, with their types, and returns a [Cmd] with the type of the result.
//
//	name, err := cmd.Get[string]("user:1").Do(ctx, db)
//	ok, err := cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX).Do(ctx, db)
//	err = redis.Batch(ctx, db, cmd.Incr("a").Into(&a), cmd.HGetAll[User]("user:1").Into(&user))
//
// Alternatives share one parameter of an interface type, and nil leaves it out: [SetExpiration] is
// [EX], [PX], [EXAT], [PXAT] or [KEEPTTL]. Other options follow the parameters, in any number. So an
// option of another command, or two alternatives at once, do not compile. Neither does a bare number
// for a [time.Duration], which is sent in the unit of the command.
//
// If an option changes the form of the reply, there is a function for each form: [Set] and [SetGet],
// [ZRange] and [ZRangeWithScores], [LPop] and [LPopCount].
//
// Functions, options and their documentation are generated from the servers' COMMAND DOCS. A server
// that lacks a command or an option answers with an error that starts with ERR. Commands that this
// library can't send, such as SUBSCRIBE and HELLO, have no function.
//
// The guide is docs/commands.md.
package cmd

//go:generate go run ../internal/command/typed
