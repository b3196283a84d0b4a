package redisdebug_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisdebug"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func Example() {
	server, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, url := context.Background(), "redis://"+server.Addr()
	mux := http.NewServeMux()

	page := redisdebug.New(10 * time.Millisecond) // operations that take longer are listed
	client, err := redispipe.Open(ctx, url, redispipe.Hooks(page))
	if err != nil {
		log.Fatal(err)
	}
	if err := page.Add("sessions", client); err != nil {
		log.Fatal(err)
	}
	mux.Handle("/debug/redispipe", page)

	defer client.Close()
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/debug/redispipe", http.NoBody))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
