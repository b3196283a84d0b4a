package redistest_test

import (
	"fmt"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func ExampleMock_Expect_failure() {
	defer func() { fmt.Println(recover()) }()
	mock := redistest.NewMock(nil) // with the t of a test, this would fail the test
	mock.Expect("SET", "user:1", "Ann", redistest.Rest).Reply("OK")
	redis.Sync{S: mock}.Do("SET", "user:1", "Bob", "EX", 60)
	// Output:
	// redistest: a request that was not expected:
	// 	got:  SET "user:1" "Bob" "EX" "60"
	// 	want: SET "user:1" "Ann" ... (example_failure_test.go:13)
	// 	      word 2 is "Bob", want "Ann"
}
