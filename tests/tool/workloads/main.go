// SPDX-License-Identifier: MIT
// Goroutines, a server and its client, a child.

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
)

func Sum(n int) (total int) {
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := 1; i <= n; i++ {
		all.Add(1)
		go func(i int) { defer all.Done(); lock.Lock(); total += i; lock.Unlock() }(i)
	}
	all.Wait()
	return
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
	answer, err := http.Get(server.URL + "/path")
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(answer.Body)
	child, _ := exec.Command("echo", "child").Output()
	fmt.Println(Sum(1000), string(body), string(child))
}
