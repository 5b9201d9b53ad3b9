package wireproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"

	"github.com/twinpath/twinpath/internal/wireproxy"
)

func ExampleProxy_Stats() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		echo(conn)
	}()

	ctx := context.Background()
	proxy, err := wireproxy.Start(wireproxy.Config{Target: server.Addr().String()})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close(ctx)

	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprintln(conn, "ping")
		if _, err := answers.ReadString('\n'); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(proxy.Stats().RoundTrips, "round trips")
	// Output: 3 round trips
}
