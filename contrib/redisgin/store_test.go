package redisgin

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-contrib/sessions"
	"github.com/gin-contrib/sessions/tester"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func newStore(t *testing.T) sessions.Store {
	db, err := redispipe.Open(context.Background(), "redis://"+memserver.Strict(t).Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return New(db, []byte("0123456789abcdef0123456789abcdef"))
}

// TestSuite runs the suite of gin's sessions in the same way as gin's own stores.
func TestSuite(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	t.Run("GetSet", func(t *testing.T) { tester.GetSet(t, newStore) })
	t.Run("DeleteKey", func(t *testing.T) { tester.DeleteKey(t, newStore) })
	t.Run("Flashes", func(t *testing.T) { tester.Flashes(t, newStore) })
	t.Run("Clear", func(t *testing.T) { tester.Clear(t, newStore) })
	t.Run("Options", func(t *testing.T) { tester.Options(t, newStore) })
	t.Run("Many", func(t *testing.T) { tester.Many(t, newStore) })
}

// With a MaxAge of 0, the cookie ends with the browser, and the store keeps the session.
func TestBrowserSession(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	store := newStore(t)
	store.Options(sessions.Options{Path: "/"})
	router := gin.New()
	router.Use(sessions.Sessions("visits", store))
	router.GET("/", func(c *gin.Context) {
		session := sessions.Default(c)
		visits, _ := session.Get("visits").(int)
		session.Set("visits", visits+1)
		require.NoError(t, session.Save())
		c.JSON(http.StatusOK, visits)
	})
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, want := range []string{"0", "1"} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, request)
		require.Equal(t, want, w.Body.String())
		cookies := w.Result().Cookies()
		require.Len(t, cookies, 1)
		require.Zero(t, cookies[0].MaxAge)
		request.Header.Set("Cookie", cookies[0].String())
	}
}
