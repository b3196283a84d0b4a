package redissessions_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redissessions"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// Visits counts the visits of each session.
func Visits(db *redispipe.Client, key []byte) http.Handler {
	store := redissessions.New(db, key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "visits")
		if err != nil {
			log.Print(err) // the session is a new one
		}
		visits, _ := session.Values["visits"].(int)
		session.Values["visits"] = visits + 1
		if err := session.Save(r, w); err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, visits+1)
	})
}

func Example() {
	server, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	handler := Visits(db, []byte("0123456789abcdef0123456789abcdef"))

	var cookies []*http.Cookie
	for range 2 {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, cookie := range cookies {
			request.AddCookie(cookie)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		fmt.Print(recorder.Body)
		cookies = recorder.Result().Cookies()
	}
	// Output:
	// 1
	// 2
}
