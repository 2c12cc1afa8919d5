// The driver of franz-go: it puts the client of github.com/twmb/franz-go in front of the traces of consumers.
//
// The client is the real one, with its goroutines, connections and waits. Two things are not: the brokers at the other
// end of its connections, which answer what the trace says, when it says so (cluster.go); and the clock. All runs in a
// bubble of testing/synctest: "nothing more happens in the client" can be asked for, and time passes where the trace
// lets it pass. So a replay does not depend on how fast the machine is.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

const clientModule = "github.com/twmb/franz-go"

func main() {
	answers := os.Stdout
	// A bubble is had from the package testing alone, which writes to standard output what it did.
	os.Stdout = os.Stderr
	run := func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			if err := converse(bufio.NewReader(os.Stdin), bufio.NewWriter(answers)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		})
	}
	matches := func(string, string) (bool, error) { return true, nil }
	testing.Main(matches, []testing.InternalTest{{Name: "driver", F: run}}, nil, nil)
}

// converse answers each command with a line, until bye or the end of the input.
func converse(commands *bufio.Reader, answers *bufio.Writer) error {
	var d driver
	decoder, encoder := json.NewDecoder(commands), json.NewEncoder(answers)
	for {
		var command command
		if err := decoder.Decode(&command); err != nil {
			return fmt.Errorf("no command: %w", err)
		}
		var said any
		switch command.Cmd {
		case "hello":
			said = hello()
		case "reset":
			d.reset(command.Configure)
			said = line{Trace: command.Trace, OK: &outcome{}}
		case "step":
			said = d.step(&command)
		case "bye":
			return nil
		default:
			return fmt.Errorf("an unknown command: %s", command.Cmd)
		}
		if err := encoder.Encode(said); err != nil {
			return err
		}
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}

func hello() any {
	return map[string]any{"hello": map[string]any{
		"protocol_version": 0,
		"name":             "franz-go",
		"version":          clientVersion(),
		"protocols":        []string{"consumer"},
		"kinds":            []string{"wire"},
		"features":         []string{"transactions", "restart", "topics_change", "old_message_formats", "mixed_versions"},
	}}
}

func clientVersion() string {
	if info, known := debug.ReadBuildInfo(); known {
		for _, module := range info.Deps {
			if module.Path == clientModule {
				return module.Version[1:]
			}
		}
	}
	return "of an unknown version"
}
