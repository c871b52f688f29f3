// Package queue keeps boardings while the scanner is offline and sends them when the network is back.
package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Boarding says who went on board, and when.
type Boarding struct {
	Reference string
	At        time.Time
}

// Queue is a bounded buffer; the oldest entry is dropped when it is full.
type Queue struct {
	mu       sync.Mutex
	waiting  []Boarding
	capacity int
	server   string
	client   http.Client
}

// New makes an empty queue.
func New(server string, capacity int) *Queue {
	return &Queue{capacity: capacity, server: server, client: http.Client{Timeout: 5 * time.Second}}
}

// Push adds a boarding without ever blocking the gate.
func (q *Queue) Push(b Boarding) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == q.capacity {
		q.waiting = q.waiting[1:]
	}
	q.waiting = append(q.waiting, b)
}

// Flush sends what waits every few seconds until the context ends; what cannot be sent stays.
func (q *Queue) Flush(ctx context.Context) {
	ticker := time.NewTicker(3 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			q.sendAll(ctx)
		}
	}
}

func (q *Queue) sendAll(ctx context.Context) {
	q.mu.Lock()
	batch := append([]Boarding(nil), q.waiting...)
	q.mu.Unlock()
	if len(batch) == 0 || q.send(ctx, batch) != nil {
		return
	}
	q.mu.Lock()
	q.waiting = q.waiting[len(batch):]
	q.mu.Unlock()
}

func (q *Queue) send(ctx context.Context, batch []Boarding) error {
	body, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.server+"/boardings", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := q.client.Do(request)
	if err != nil {
		return fmt.Errorf("queue: the server cannot be reached (ECONNREFUSED, timeout): %w", err)
	}
	return response.Body.Close()
}
