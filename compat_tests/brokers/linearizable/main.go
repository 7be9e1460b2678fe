// Judges a history of partitions by Porcupine: is there one order of all appends and of all answers of an end offset, in which
// each happened between its call and its return, that a log could have had? Reads JSON lines; prints "ok N" or "illegal PARTITION",
// or "unknown N" after a limit of time.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

const limit = 120 * time.Second

type operation struct {
	Kind      string `json:"kind"`
	Partition int    `json:"partition"`
	Offset    int    `json:"offset"`
	Value     int    `json:"value"`
	Call      int64  `json:"call"`
	Return    int64  `json:"return"`
}

// The state of a partition is its log's end.
func step(state, input, _ any) (bool, any) {
	end, asked := state.(int), input.(operation)
	if asked.Kind == "append" {
		return asked.Offset == end, end + 1
	}
	return asked.Offset == end, end
}

func main() {
	histories := map[int][]porcupine.Operation{}
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	count := 0
	for lines.More() {
		var asked operation
		if err := lines.Decode(&asked); err != nil {
			panic(err)
		}
		histories[asked.Partition] = append(histories[asked.Partition],
			porcupine.Operation{ClientId: count, Input: asked, Call: asked.Call, Return: asked.Return})
		count++
	}
	model := porcupine.Model{Init: func() any { return 0 }, Step: step}
	for partition, history := range histories {
		switch porcupine.CheckOperationsTimeout(model, history, limit) {
		case porcupine.Illegal:
			fmt.Println("illegal", partition)
			return
		case porcupine.Unknown:
			fmt.Println("unknown", count)
			return
		}
	}
	fmt.Println("ok", count)
}
