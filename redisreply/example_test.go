package redisreply_test

import (
	"context"
	"fmt"
	"log"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
	"github.com/joomcode/redispipe/testbed"
)

func Example() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := redispipe.Open(ctx, "redis://"+server.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	client.Do(ctx, "GEOADD", "cities", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")

	var near []redisreply.Place
	err = client.DoInto(ctx, &near, "GEOSEARCH", "cities", "FROMMEMBER", "Palermo", "BYRADIUS", 200, "km", "ASC", "WITHDIST")
	if err != nil {
		log.Fatal(err)
	}
	for _, place := range near {
		fmt.Printf("%s: %.0f km\n", place.Name, place.Distance)
	}
	info, err := redis.As[redisreply.Info](client.Do(ctx, "INFO", "replication"))
	fmt.Println(info["replication"]["role"], err)
	// Output:
	// Palermo: 0 km
	// Catania: 166 km
	// master <nil>
}
