// Waits at a futex of its own, 20 times until a timeout of 20 ms, and prints the seconds that it waited. Other goroutines
// use a mutex and a channel meanwhile. With an argument it waits until it is killed.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var knownFutex uint32

//go:noinline
func waitAtFutex() time.Duration {
	const futexWaitPrivate = 128
	timeout := syscall.Timespec{Nsec: 20_000_000}
	before := time.Now()
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&knownFutex)), futexWaitPrivate, 0,
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	return time.Since(before)
}

func main() {
	runtime.LockOSThread()
	var lock sync.Mutex
	done := make(chan bool)
	go func() {
		for i := 0; i < 20; i++ {
			lock.Lock()
			time.Sleep(time.Millisecond)
			lock.Unlock()
		}
		done <- true
	}()
	var waited time.Duration
	for i := 0; i < 20 || len(os.Args) > 1; i++ {
		waited += waitAtFutex()
	}
	<-done
	fmt.Printf("%.6f\n", waited.Seconds())
}
