package testbed_test

import (
	"fmt"

	"github.com/joomcode/redispipe/testbed"
)

// Programs that are not tests start servers themselves.
func ExampleStart() {
	server, err := testbed.Start(testbed.Options{Password: "secret"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	fmt.Println(server.Do("SET", "key", "value"))
	fmt.Printf("%s\n", server.Do("GET", "key"))
	// Output:
	// OK
	// value
}

// While a slot is half moved, its keys are on two nodes. Each node answers for the keys that it
// has.
func ExampleCluster_BeginMigration() {
	cluster, err := testbed.StartCluster(testbed.ClusterOptions{Masters: 2, Replicas: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	slot, _ := cluster.Slot("{user}:1")
	owner, _ := cluster.Owner(slot)
	owner.Do("SET", "{user}:1", "Ann")
	other := cluster.Node(0)
	if other == owner {
		other = cluster.Node(1)
	}

	move, err := cluster.BeginMigration(slot, other)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", owner.Do("GET", "{user}:1"))
	fmt.Println(move.MoveAll())
	fmt.Println(move.Finish())
	fmt.Printf("%s\n", other.Do("GET", "{user}:1"))
	// Output:
	// Ann
	// <nil>
	// <nil>
	// Ann
}
