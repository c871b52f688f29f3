package ticket

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"testing"
	"time"
)

func signed(t *testing.T, payload string) (string, *Verifier) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(payload)))
	return payload + "." + signature, &Verifier{key: public, now: func() time.Time { return time.Unix(0, 0) }}
}

func TestVerifyAcceptsAGenuineTicket(t *testing.T) {
	code, verifier := signed(t, "AB12|Frisia|2026-05-01T12:00:00Z")
	if _, err := verifier.Verify(code); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyRefusesAForgedSignature(t *testing.T) {
	code, _ := signed(t, "AB12|Frisia|2026-05-01T12:00:00Z")
	_, other := signed(t, "x")
	if _, err := other.Verify(code); !errors.Is(err, ErrForged) {
		t.Fatalf("got %v", err)
	}
}
