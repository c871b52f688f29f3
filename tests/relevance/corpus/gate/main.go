// Command gate runs on the scanner at the quay: it reads tickets, opens the barrier and reports who has boarded.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"

	"ferry/gate/device"
	"ferry/gate/queue"
	"ferry/gate/ticket"
)

func main() {
	keyFile := flag.String("key", "/etc/gate/public.pem", "public key of the ticket office")
	server := flag.String("server", "https://ferry.example", "where boardings are reported")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	lock, err := device.LockScanner("/dev/scanner0")
	if err != nil {
		log.Fatalf("another process uses the scanner: %v", err)
	}
	defer lock.Unlock()

	verifier, err := ticket.LoadVerifier(*keyFile)
	if err != nil {
		log.Fatal(err)
	}
	boardings := queue.New(*server, 10_000)
	go boardings.Flush(ctx)
	scanLoop(ctx, lock, verifier, boardings)
}

// scanLoop opens the barrier for every valid ticket until the context ends.
func scanLoop(ctx context.Context, lock *device.ScannerLock, verifier *ticket.Verifier, boardings *queue.Queue) {
	for code := range lock.Codes(ctx) {
		scanned, err := verifier.Verify(code)
		if err != nil {
			log.Printf("refused: %v", err)
			continue
		}
		device.OpenBarrier()
		boardings.Push(queue.Boarding{Reference: scanned.Reference, At: scanned.ScannedAt})
	}
}
