package redisfiber_test

import (
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/session"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisfiber"
	"github.com/joomcode/redispipe/redis"
)

// NewApp returns an app whose sessions are in Redis.
func NewApp(db *redispipe.Client) *fiber.App {
	app := fiber.New()
	app.Use(session.New(session.Config{Storage: redisfiber.New(redis.WithPrefix(db, "sessions:"))}))
	return app
}

var _ = NewApp
