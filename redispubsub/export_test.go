package redispubsub

// HandoverMost is for tests that have to be quicker.
const HandoverMost = handoverMost
