// The ISO registers of countries, subdivisions, languages, currencies and scripts, kept in a Holdfast store: a tour of
// the package on the 13,000 entities of Debian's package iso-codes.
//
//	go run ./examples/iso_registers
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast"
)

var registers = []struct{ repository, file, name, key string }{
	{"countries", "iso_3166-1.json", "3166-1", "alpha_2"},
	{"subdivisions", "iso_3166-2.json", "3166-2", "code"},
	{"languages", "iso_639-3.json", "639-3", "alpha_3"},
	{"currencies", "iso_4217.json", "4217", "alpha_3"},
	{"scripts", "iso_15924.json", "15924", "alpha_4"},
}

const load = 5000

// Language is one of them, as far as this program is interested in it.
type Language struct {
	Code string `json:"alpha_3"`
	Name string `json:"name"`
	Type string `json:"type"`
}

// Visit is what thousands of commits store.
type Visit struct {
	ID    int    `json:"id"`
	Place string `json:"place"`
}

func must[T any](value T, err error) T {
	check(err == nil, fmt.Sprint(err))
	return value
}

func check(holds bool, sentence string) {
	if !holds {
		log.Panic("not so: ", sentence)
	}
}

// A register is one transaction, so a reader sees all of it or nothing.
func importRegisters(ctx context.Context, store *holdfast.Store) {
	total := 0
	for _, register := range registers {
		var file map[string][]json.RawMessage
		text := must(os.ReadFile(filepath.Join("/usr/share/iso-codes/json", register.file)))
		check(json.Unmarshal(text, &file) == nil, "the package iso-codes is installed")
		entries := file[register.name]
		repository := must(store.Repository(ctx, register.repository, map[string]string{"key": register.key}))
		must(store.Transact(ctx, nil, func(tx *holdfast.Tx) error { return repository.Within(tx).AddMany(ctx, entries) }))
		check(must(repository.Count(ctx, nil)) == uint64(len(entries)), "all entries are stored")
		fmt.Printf("  %-12s %5d\n", register.repository, len(entries))
		total += len(entries)
	}
	fmt.Printf("  %d entities\n", total)
}

func readAndUpdate(ctx context.Context, store *holdfast.Store) {
	countries := must(store.Repository(ctx, "countries", nil))
	iceland := must(countries.Fetch(ctx, "IS"))
	changed := must(countries.Patch(ctx, "IS", `{"capital":"Reykjavík"}`, iceland.Version))
	fmt.Printf("  %s\n  %s\n", iceland.JSON, changed.JSON)
	// Whoever still thinks of the old version is told so.
	refused := countries.Delete(ctx, "IS", iceland.Version)
	check(errors.Is(refused, holdfast.ErrVersionMismatch), "an old version is refused")

	languages := must(holdfast.Of[Language](ctx, store, "languages", nil))
	three := must(languages.Find(ctx, `{"type": "C"}`, `{"limit": 3}`))
	check(len(three) == 3 && three[0].Type == "C", "three constructed languages")
	constructed := must(languages.Repository().Count(ctx, `{"type": "C"}`))
	fmt.Printf("  %d constructed languages, the first of them %s\n", constructed, three[0].Name)
}

func beRefused(ctx context.Context, store *holdfast.Store) {
	currencies := must(store.Repository(ctx, "currencies", nil))
	total := must(currencies.Count(ctx, nil))
	tx := must(store.Begin(ctx, nil))
	inside := currencies.Within(tx)
	must(inside.Fetch(ctx, "ISK"))
	check(inside.Delete(ctx, "ISK", 0) == nil, "it is deleted")
	must(inside.Add(ctx, `{"alpha_3":"XIK"}`))
	must(currencies.Patch(ctx, "ISK", `{"digits":0}`, 0)) // Somebody else is quicker.
	_, err := tx.Commit(ctx)
	var refused *holdfast.Error
	check(errors.As(err, &refused) && refused.Status == holdfast.ErrConflict && refused.Retryable, "it is a conflict")
	fmt.Printf("  %s\n", refused.Message)
	check(must(currencies.Contains(ctx, "ISK")) && must(currencies.Count(ctx, nil)) == total, "nothing has changed")
}

func visit(ctx context.Context, store *holdfast.Store, visits *holdfast.Typed[Visit], number int) *holdfast.Commit {
	tx := must(store.Begin(ctx, nil))
	must(visits.Within(tx).Save(ctx, Visit{number, fmt.Sprintf("IS-%d", number%9)}))
	return must(tx.Submit(ctx))
}

func commitThousands(ctx context.Context, store *holdfast.Store) {
	visits := must(holdfast.Of[Visit](ctx, store, "visits", nil))
	var commits []*holdfast.Commit
	for number := 0; number < load; number++ {
		commits = append(commits, visit(ctx, store, visits, number))
	}
	failed, last := 0, uint64(0)
	for _, commit := range commits {
		receipt := must(commit.Wait(ctx))
		if receipt.Sequence <= last {
			failed++
		}
		last = receipt.Sequence
	}
	fmt.Printf("  %d completed in commit order, %d failed\n", len(commits), failed)
	check(failed == 0 && must(visits.Repository().Count(ctx, nil)) == load, "all are stored, in order")
}

func follow(ctx context.Context, store *holdfast.Store) {
	scripts := must(store.Repository(ctx, "scripts", nil))
	live := must(scripts.Live(ctx, `{"on_duty": true}`, nil))
	defer live.Close()
	check(live.Next(ctx), "there is a result")
	must(scripts.Patch(ctx, "Cyrl", `{"seen": 1}`, 0))
	must(scripts.Patch(ctx, "Latn", `{"on_duty": true}`, 0))
	check(live.Next(ctx) && strings.Contains(live.News().JSON, `"id":"Latn"`), "Latn is told")
	fmt.Println("  one script came on duty")
}

// The second process: tells each acknowledged commit to its parent.
func writeUntilKilled(ctx context.Context, path string) {
	store := must(holdfast.Open(ctx, path, nil))
	visits := must(holdfast.Of[Visit](ctx, store, "visits", nil))
	for first := load; ; first += 100 {
		var commits []*holdfast.Commit
		for number := first; number < first+100; number++ {
			commits = append(commits, visit(ctx, store, visits, number))
		}
		for i, commit := range commits {
			must(commit.Wait(ctx))
			fmt.Println(first + i)
		}
	}
}

func killAWriter(ctx context.Context, path string) {
	writer := exec.Command(must(os.Executable()), "write", path)
	output := must(writer.StdoutPipe())
	check(writer.Start() == nil, "it runs")
	var acknowledged []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		acknowledged = append(acknowledged, lines.Text())
		if len(acknowledged) == load {
			check(writer.Process.Kill() == nil, "it is killed")
		}
	}
	check(writer.Wait() != nil, "it was killed")
	store := must(holdfast.Open(ctx, path, nil))
	defer store.Close()
	visits := must(store.Repository(ctx, "visits", nil))
	found := 0
	for _, number := range acknowledged {
		if must(visits.Contains(ctx, number)) {
			found++
		}
	}
	fmt.Printf("  %d commits were acknowledged before the kill, %d of them are there\n", len(acknowledged), found)
	check(found == len(acknowledged) && found >= load, "no acknowledged commit is lost")
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if len(os.Args) == 3 && os.Args[1] == "write" {
		writeUntilKilled(ctx, os.Args[2])
	}
	folder := must(os.MkdirTemp("", "iso-registers-"))
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "registers.db")
	store := must(holdfast.Open(ctx, path, nil))
	fmt.Println("Importing into", path)
	importRegisters(ctx, store)
	fmt.Println("Reading and updating")
	readAndUpdate(ctx, store)
	fmt.Println("A transaction that comes too late is refused, and nothing has changed")
	beRefused(ctx, store)
	fmt.Println("Thousands of commits at once")
	commitThousands(ctx, store)
	fmt.Println("Following a query")
	follow(ctx, store)
	check(store.Close() == nil, "it is closed")
	fmt.Println("A writer is killed")
	killAWriter(ctx, path)
	fmt.Println("Done")
}
