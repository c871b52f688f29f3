package device

import (
	"os"

	"golang.org/x/sys/windows"
)

// ScannerLock owns the scanner's device file.
type ScannerLock struct {
	file *os.File
}

// LockScanner takes the scanner for this process with LockFileEx; it fails at once when another one has it.
func LockScanner(path string) (*ScannerLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		file.Close()
		return nil, err
	}
	return &ScannerLock{file: file}, nil
}

// Unlock gives the scanner back.
func (l *ScannerLock) Unlock() error {
	return l.file.Close()
}
