// A shop writes orders; two payers read them in a group and write each to "charges" and to "receipts" in a transaction with its offset.
// Lines in: "LIFE id kind bootstrap orders". Lines out: "LIFE id ok", or why not.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const limit = 90 * time.Second

type life struct {
	id, bootstrap string
	orders        int
}

func main() {
	var lives, saying sync.WaitGroup
	said := make(chan string)
	saying.Add(1)
	go func() {
		defer saying.Done()
		for line := range said {
			fmt.Println(line)
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		orders, _ := strconv.Atoi(words[4])
		one := life{words[1], words[3], orders}
		lives.Add(1)
		go func() {
			defer lives.Done()
			result := "ok"
			if err := one.live(); err != nil {
				result = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			said <- "LIFE " + one.id + " " + result
		}()
	}
	lives.Wait()
	close(said)
	saying.Wait()
}

func (l life) options(client string, more ...kgo.Opt) []kgo.Opt {
	backoff := func(int) time.Duration { return 50 * time.Millisecond }
	return append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(l.bootstrap, ",")...), kgo.ClientID(client), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.MetadataMaxAge(time.Second), kgo.AlwaysRetryEOF(), kgo.RetryBackoffFn(backoff), kgo.RequestTimeoutOverhead(3 * time.Second),
	}, more...)
}

func (l life) live() error {
	until, end := context.WithTimeout(context.Background(), limit)
	defer end()
	ended := make(chan error, 3)
	working := 0
	work := func(what func(context.Context) error) {
		working++
		go func() { ended <- what(until) }()
	}
	sold := make(chan error, 1)
	go func() { sold <- l.sell(until) }()
	work(func(until context.Context) error { return l.pay(until, "payer-1") })
	work(func(until context.Context) error { return l.pay(until, "payer-2") })
	seen, err := l.count(until)
	if err == nil {
		err = <-sold
	}
	end()
	for range working {
		if trouble := <-ended; trouble != nil && err == nil {
			err = trouble
		}
	}
	if err == nil && seen != l.orders {
		err = fmt.Errorf("only %d of %d in time", seen, l.orders)
	}
	return err
}

func (l life) sell(until context.Context) error {
	client, err := kgo.NewClient(l.options("shop", kgo.ProducerLinger(5*time.Millisecond))...)
	if err != nil {
		return err
	}
	defer client.Close()
	var failed error
	var once sync.Once
	for number := range l.orders {
		order := &kgo.Record{Topic: "orders", Key: fmt.Appendf(nil, "k%d", number%5), Value: fmt.Appendf(nil, "order %d", number)}
		client.Produce(until, order, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failed = err })
			}
		})
		time.Sleep(20 * time.Millisecond)
	}
	if err := client.Flush(until); err != nil {
		return err
	}
	return failed
}

// pay begins anew after whatever went wrong: with a new member, and a producer that fences the one before.
func (l life) pay(until context.Context, name string) error {
	for until.Err() == nil {
		if err := l.payAsOneMember(until, name); err != nil {
			if os.Getenv("LIVES_DEBUG") != "" {
				fmt.Fprintln(os.Stderr, l.id, name, "begins anew:", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

func (l life) payAsOneMember(until context.Context, name string) error {
	session, err := kgo.NewGroupTransactSession(l.options(name,
		kgo.TransactionalID(name), kgo.TransactionTimeout(5*time.Second), kgo.ConsumerGroup("payers"), kgo.ConsumeTopics("orders"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(300*time.Millisecond), kgo.RebalanceTimeout(10*time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer session.Close()
	for until.Err() == nil {
		fetches := session.PollRecords(until, 7)
		if until.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		sent := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(order *kgo.Record) {
			for _, topic := range []string{"charges", "receipts"} {
				session.Produce(until, &kgo.Record{Topic: topic, Key: order.Key, Value: order.Value}, sent.Promise())
			}
		})
		// End restores the offsets that were committed if the transaction cannot be.
		if _, err := session.End(context.WithoutCancel(until), sent.Err() == nil); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many orders are charged, as soon as all are, or when it is too late.
func (l life) count(until context.Context) (int, error) {
	client, err := kgo.NewClient(l.options("counter", kgo.ConsumeTopics("charges"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	seen := map[string]bool{}
	for len(seen) < l.orders && until.Err() == nil {
		fetches := client.PollFetches(until)
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) && until.Err() == nil {
			var ended *kgo.ErrFirstReadEOF
			if !errors.As(err, &ended) && os.Getenv("LIVES_DEBUG") != "" {
				fmt.Fprintln(os.Stderr, l.id, "counter:", err)
			}
		}
		fetches.EachRecord(func(charge *kgo.Record) { seen[string(charge.Value)] = true })
	}
	return len(seen), nil
}
