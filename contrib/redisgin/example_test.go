package redisgin_test

import (
	"github.com/gin-contrib/sessions"
	"github.com/gin-gonic/gin"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisgin"
)

// UseSessions keeps the sessions of a router in Redis.
func UseSessions(router *gin.Engine, db *redispipe.Client, key []byte) {
	store := redisgin.New(db, key)
	store.Options(sessions.Options{Path: "/", MaxAge: 86400, HttpOnly: true, Secure: true})
	router.Use(sessions.Sessions("visits", store))
}

var _ = UseSessions
