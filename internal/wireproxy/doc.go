// Package wireproxy is a TCP proxy in front of one address that makes a distant server of a near
// one, counts what crosses it, and breaks connections on demand. Tests count round trips with it; the demo
// uses it to show what a network's latency does to each path.
//
//	proxy, err := wireproxy.Start(wireproxy.Config{Target: pooler.Addr(), Delay: 2500 * time.Microsecond})
//	defer proxy.Close(ctx)
//	… connect to proxy.Addr() …
//	err = proxy.Idle(ctx)       // what came before has been delivered
//	proxy.Reset()
//	… one call …
//	trips := proxy.Stats().RoundTrips
//
// # Delay
//
// The delay is that of propagation, in each direction: every chunk read is due one delay later, and
// any number of them is on its way at once, so it adds latency without limiting throughput. Opening a
// connection costs one round trip, as a TCP handshake does: nothing the client sends leaves the proxy before
// that. (The client's own connect returns at once, as the kernel answers it; the wait shows in the first
// answer.)
//
// # Round trips
//
// A round trip of one connection is counted when bytes of the server reach the client after bytes of
// the client were seen: a change of direction. However many bytes, packets or messages go one way before
// the other side answers, they count once. What the client sends while an answer is still on its way
// to it can't depend on that answer, so it belongs to the trip that is under way; with a delay set,
// pipelining is thus told apart from waiting even where both directions overlap. Bytes that get no answer,
// such as a protocol's goodbye, make no round trip, and neither does what a server says unasked.
//
// The count goes up before the client gets the bytes, so a call that has returned is counted.
//
// # Faults
//
// [Proxy.Refuse] is a server that is not running, [Proxy.Stall] a network that delivers nothing,
// [Proxy.DropAll] and [Proxy.ResetAll] end what is open, and [Proxy.Harm] does something to answers.
package wireproxy
