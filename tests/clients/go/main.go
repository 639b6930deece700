// Go clients against a broker: checks BOOTSTRAP CHECK. Exit 0 when the check holds; otherwise the reason on stderr.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"
)

var checks = map[string]func(bootstrap string) error{
	"franz-codecs":        franzCodecs,
	"franz-large":         franzLarge,
	"franz-groups":        franzGroups,
	"franz-static":        franzStatic,
	"franz-time":          franzTime,
	"franz-admin":         franzAdmin,
	"franz-recreate":      franzRecreate,
	"franz-transactions":  franzTransactions,
	"franz-session":       franzSession,
	"sarama-transactions": saramaTransactions,
	"sarama-codecs":       saramaCodecs,
	"sarama-groups":       saramaGroups,
	"sarama-idempotent":   saramaIdempotent,
	"sarama-admin":        saramaAdmin,
}

// fresh returns a name that nothing else uses.
func fresh(stem string) string {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return "go-" + stem + "-" + hex.EncodeToString(random)
}

// until waits for a condition, bounded.
func until(what string, condition func() bool) error {
	deadline := time.Now().Add(120 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			return fmt.Errorf("not within 120 s: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func main() {
	if len(os.Args) > 5 && os.Args[1] == "life" {
		if err := life(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 3 || checks[os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: checks BOOTSTRAP CHECK | checks life follow|write ...")
		os.Exit(2)
	}
	if err := checks[os.Args[2]](os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
