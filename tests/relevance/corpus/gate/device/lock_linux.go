package device

import (
	"os"
	"syscall"
)

// ScannerLock owns the scanner's device file.
type ScannerLock struct {
	file *os.File
}

// LockScanner takes the scanner for this process with flock; it fails at once when another one has it.
func LockScanner(path string) (*ScannerLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return &ScannerLock{file: file}, nil
}

// Unlock gives the scanner back.
func (l *ScannerLock) Unlock() error {
	return l.file.Close()
}
