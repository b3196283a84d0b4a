// Package cmd has the commands of Redis and Valkey as values: a function for each, which takes
// the arguments that the command takes, of their types, and makes a [Cmd] of the type that its
// reply is read into.
//
//	name, err := cmd.Get[string]("user:1").Do(ctx, db)
//	ok, err := cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX).Do(ctx, db)
//	err = redis.Batch(ctx, db, cmd.Incr("a").Into(&a), cmd.HGetAll[User]("user:1").Into(&user))
//
// Arguments that exclude each other are one parameter of an interface type, and nil leaves it
// out: [SetExpiration] is [EX], [PX], [EXAT], [PXAT] or [KEEPTTL]. Other options follow the
// parameters, any number of them. So what a command does not take, and two alternatives at
// once, do not compile; neither does a bare number for a [time.Duration], which is sent in the
// unit that the command takes.
//
// A command whose reply has another form with an option is a function for each form:
// [Set] and [SetGet], [ZRange] and [ZRangeWithScores], [LPop] and [LPopCount].
//
// Functions, options and their documentation are made of what servers say of their commands
// (COMMAND DOCS). A server that lacks a command, or an option, answers as it does: with an
// error that begins with ERR. There is no function for what a connection of this library
// can't send, such as SUBSCRIBE and HELLO.
//
// The guide is docs/commands.md.
package cmd

//go:generate go run ../internal/command/typed
