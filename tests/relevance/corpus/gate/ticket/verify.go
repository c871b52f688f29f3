// Package ticket checks that a ticket is genuine and for this ship, without asking the server.
package ticket

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

var (
	ErrForged  = errors.New("ticket: signature does not match")
	ErrTooLate = errors.New("ticket: the ferry has left")
)

// Ticket is what a code says once it is known to be genuine.
type Ticket struct {
	Reference string
	Ship      string
	DepartsAt time.Time
	ScannedAt time.Time
}

// Verifier knows the public key of the ticket office.
type Verifier struct {
	key ed25519.PublicKey
	now func() time.Time
}

// LoadVerifier reads the key from a file.
func LoadVerifier(path string) (*Verifier, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ticket: no key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("ticket: %s holds no key", path)
	}
	return &Verifier{key: key, now: time.Now}, nil
}

// Verify decodes a scanned code and checks its signature and its time.
func (v *Verifier) Verify(code string) (*Ticket, error) {
	payload, signature, found := strings.Cut(code, ".")
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if !found || err != nil || !ed25519.Verify(v.key, []byte(payload), raw) {
		return nil, ErrForged
	}
	ticket, err := parsePayload(payload)
	if err != nil {
		return nil, err
	}
	if ticket.ScannedAt = v.now(); ticket.ScannedAt.After(ticket.DepartsAt) {
		return nil, ErrTooLate
	}
	return ticket, nil
}

func parsePayload(payload string) (*Ticket, error) {
	fields := strings.Split(payload, "|")
	if len(fields) != 3 {
		return nil, fmt.Errorf("ticket: %d fields, want 3", len(fields))
	}
	departs, err := time.Parse(time.RFC3339, fields[2])
	return &Ticket{Reference: fields[0], Ship: fields[1], DepartsAt: departs}, err
}
