// service.go: Go's HTTP server; see kinds.py for what it does.
//
//	service-go PORT
package main

import (
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	monotonic = 1 // CLOCK_MONOTONIC
	ofThread  = 3 // CLOCK_THREAD_CPUTIME_ID
	block     = 1 << 18
)

var (
	page  = os.Getpagesize()
	piece = make([]byte, 1<<16)
	data  = os.Getenv("FOREIGN_DATA")
	lock  sync.Mutex
	pool  = make(chan struct{}, 1) // one connection, as database/sql has many
	heap  []*int
	sink  byte
)

func now(clock uintptr) int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock,
		uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// query is the request's: kind, how, and numbers.
type query struct{ url.Values }

func (q query) number(name string) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return 1
	}
	return n
}

func (q query) length() time.Duration {
	return time.Duration(q.number("ms")) * time.Millisecond
}

// truth is when a thing began and ended, and what its thread computed.
type truth struct{ begin, end, cpu int64 }

// Do what faults, and once more when nothing does: the former's begin and end,
// the latter's time.
func twice(action func()) truth {
	begin := now(monotonic)
	action()
	end := now(monotonic)
	action()
	return truth{begin, end, now(monotonic) - end}
}

func sleep(q query) { time.Sleep(q.length()) }

func compute(q query) {
	end := now(ofThread) + int64(q.length())
	for now(ofThread) < end {
	}
}

// Take what the request names; how to give it back.
func obtain(q query) func() {
	if q.Get("of") == "pool" {
		pool <- struct{}{}
		return func() { <-pool }
	}
	lock.Lock()
	return lock.Unlock
}

func hold(q query) {
	taken := make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer obtain(q)()
		taken <- true
		if q.Get("how") == "compute" {
			compute(q)
		} else {
			sleep(q)
		}
	}()
	<-taken
}

func take(q query) { obtain(q)() }

func coldFile() (*os.File, int) {
	file, err := os.Open(data + "/cold")
	if err != nil {
		panic(err)
	}
	status, _ := file.Stat()
	return file, int(status.Size()) / page
}

func cold(q query) {
	file, pages := coldFile()
	defer file.Close()
	buffer := make([]byte, block)
	for i := q.number("n"); i > 0; i-- {
		file.ReadAt(buffer, int64(rand.Intn(pages*page/block)*block))
	}
}

func mapped(q query) truth {
	file, pages := coldFile()
	defer file.Close()
	m, err := syscall.Mmap(int(file.Fd()), 0, pages*page,
		syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	defer syscall.Munmap(m)
	syscall.Madvise(m, syscall.MADV_RANDOM)
	places := rand.Perm(pages)[:q.number("n")]
	return twice(func() {
		for _, place := range places {
			sink += m[place*page]
		}
	})
}

func fsync(q query) {
	file, err := os.Create(fmt.Sprintf("%s/sync-%d", data, os.Getpid()))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	for i := q.number("n"); i > 0; i-- {
		file.Write(piece)
		file.Sync()
	}
}

func upstream(q query) {
	c, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("FOREIGN_UPSTREAM"))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /work?kind=sleep&ms=%d HTTP/1.0\r\n\r\n",
		q.number("ms"))
	io.Copy(io.Discard, c)
}

func udp(q query) {
	c, err := net.Dial("udp", "127.0.0.1:"+os.Getenv("FOREIGN_SILENT"))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(q.length()))
	c.Write([]byte("?"))
	c.Read(make([]byte, 512))
}

func collect(q query) {
	for len(heap) < q.number("n") {
		heap = append(heap, new(int))
	}
	runtime.GC()
}

func touch(q query) truth {
	n := q.number("n")
	m, err := syscall.Mmap(-1, 0, n*page,
		syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	defer syscall.Munmap(m)
	syscall.Madvise(m, 15) // MADV_NOHUGEPAGE
	return twice(func() {
		for i := 0; i < n; i++ {
			m[i*page] = 1
		}
	})
}

var kinds = map[string]func(query){
	"none": func(query) {}, "sleep": sleep, "compute": compute,
	"hold": hold, "take": take, "cold": cold,
	"fsync": fsync, "upstream": upstream, "udp": udp,
	"collect": collect,
}

var faulting = map[string]func(query) truth{"touch": touch, "mapped": mapped}

// Kinds that leave their thread to other goroutines while they wait: the CPU
// time of a request of these means nothing.
var parks = map[string]bool{"sleep": true, "take": true, "hold": true,
	"upstream": true, "udp": true, "fsync": true, "collect": true}

func serve(w http.ResponseWriter, r *http.Request) {
	q := query{r.URL.Query()}
	body, _ := io.ReadAll(r.Body)
	if !parks[q.Get("kind")] {
		runtime.LockOSThread() // its CPU time is that of the request
		defer runtime.UnlockOSThread()
	}
	var t truth
	begin, ran := now(monotonic), now(ofThread)
	switch q.Get("kind") {
	case "big":
		body = make([]byte, q.number("bytes"))
	case "upload":
		body = []byte(strconv.Itoa(len(body)))
	case "touch", "mapped":
		t = faulting[q.Get("kind")](q)
		body = []byte("done\n")
	default:
		kinds[q.Get("kind")](q)
		body = []byte("done\n")
	}
	if t.end == 0 {
		t = truth{begin, now(monotonic), now(ofThread) - ran}
	}
	w.Header().Set("Truth",
		fmt.Sprintf("%d %d %d %d %d", t.begin, t.end, t.cpu, os.Getpid(),
			syscall.Gettid()))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func main() {
	http.HandleFunc("/work", serve)
	err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
