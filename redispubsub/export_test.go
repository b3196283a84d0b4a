package redispubsub

import "time"

// HandoverMost is for tests that have to be quicker.
const HandoverMost = 2 * time.Second
