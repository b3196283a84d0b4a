package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A bad field is an error that names the problem, for every reply and when it is sent and read.
func TestBadFields(t *testing.T) {
	badField[struct{ F chan int }](t, "F of struct", "chan int")
	badField[struct {
		F string `redis:"f,omitemty"`
	}](t, "F of struct", "f,omitemty")
	badField[struct {
		F string `redis:"f,unix"`
	}](t, "F of struct", "f,unix")
	badField[struct {
		F time.Time `redis:"f,ms"`
	}](t, "F of struct", "f,ms")
	badField[struct {
		F int `redis:",inline"`
	}](t, "F of struct", "only structs")
	badField[struct {
		F *person `redis:",inline"`
	}](t, "F of struct", "no pointers")
	badField[struct {
		F person `redis:"f,inline"`
	}](t, "F of struct", "neither a name")
	badField[struct {
		f string `redis:"f"`
	}](t, "f of struct", "not exported")
	badField[struct {
		F string `redis:"f"`
		G string `redis:"f"`
	}](t, "G of struct", "F of struct")
	badField[struct {
		F error
	}](t, "F of struct", "error")
}

func badField[T any](t *testing.T, words ...string) {
	t.Helper()
	err := refused[T](t, bulks("f", "canary"), words...)
	again := refused[T](t, nil, words...)
	assert.Equal(t, err.Error(), again.Error())
	intoErr := Sync{answering("+OK\r\n", Limits{})}.DoInto(new(T), "GET", "k")
	assertType(t, ErrArgumentType, intoErr)
	for _, word := range words {
		assert.Contains(t, intoErr.Error(), word)
	}
}
