package docs_test

import (
	"context"
	"log"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// connected starts a server, and connects to it. The caller calls end.
func connected() (conn *redisconn.Connection, end func()) {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err = redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		conn.Close()
		s.Close()
	}
}

// opened is a client of a server of its own.
func opened() (db *redispipe.Client, end func()) {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	db, err = redispipe.Open(context.Background(), "redis://"+s.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		db.Close()
		s.Close()
	}
}
