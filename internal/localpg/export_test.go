package localpg

// StartedAt is open to tests that make up what a dead owner left behind.
var StartedAt = startedAt
