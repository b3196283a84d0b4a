package redisscs_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/alexedwards/scs/v2"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisscs"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// Visits counts the visits of each session.
func Visits(db *redispipe.Client) http.Handler {
	sessions := scs.New()
	sessions.Store = redisscs.New(db)
	return sessions.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits := sessions.GetInt(r.Context(), "visits") + 1
		sessions.Put(r.Context(), "visits", visits)
		fmt.Fprintln(w, visits)
	}))
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
	handler := Visits(db)

	request := httptest.NewRequest(http.MethodGet, "/", nil)
	for range 2 {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		fmt.Print(recorder.Body)
		for _, cookie := range recorder.Result().Cookies() {
			request.Header.Set("Cookie", cookie.String())
		}
	}
	// Output:
	// 1
	// 2
}
