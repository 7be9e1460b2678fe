package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// main runs the methods of cases, or the ones named after the bootstrap address, and reports each on a line.
func main() {
	bootstrap, wanted := os.Args[1], os.Args[2:]
	all := reflect.ValueOf(cases{bootstrap})
	for i := range all.NumMethod() {
		name := all.Type().Method(i).Name
		if len(wanted) == 0 || slices.Contains(wanted, name) {
			run(name, all.Method(i).Interface().(func()))
		}
	}
}

func run(name string, body func()) {
	defer func() {
		if trouble := recover(); trouble != nil {
			fmt.Printf("CASE %s FAIL\n", name)
			for _, line := range strings.Split(fmt.Sprint(trouble, "\n", string(debug.Stack())), "\n") {
				fmt.Println("| " + line)
			}
		}
	}()
	body()
	fmt.Printf("CASE %s PASS\n", name)
}

var started = time.Now().UnixNano()
var names int

func unique(what string) string {
	names++
	return fmt.Sprintf("go-%s-%d-%d", what, started, names)
}

// must returns the value and ends the case where there is an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func same(expected, seen any) {
	if !reflect.DeepEqual(expected, seen) {
		panic(fmt.Sprintf("expected %v, seen %v", expected, seen))
	}
}
