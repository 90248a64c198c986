// Command demo is a client or a server of the campaign, on the official Go SDK:
// "demo client", "demo server stdio", "demo server http" (without sessions; prints its URL).
package main

import "os"

func main() {
	if os.Args[1] == "client" {
		runClient()
	} else {
		runServer(os.Args[2])
	}
}
