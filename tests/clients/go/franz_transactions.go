package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzCommitted reads partition 0 up to its stable end.
func franzCommitted(bootstrap, topic string) ([]string, error) {
	ctx, cancel := bounded()
	defer cancel()
	offsets := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	client, err := franzClient(bootstrap, kgo.ConsumePartitions(offsets), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(topic, 0)
	var values []string
	for position := int64(0); position < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("at %d of %d: %w", position, end.Offset, err)
		}
		for _, record := range fetches.Records() {
			if !record.Attrs.IsControl() {
				values = append(values, string(record.Value))
			}
			position = record.Offset + 1
		}
	}
	return values, nil
}

// franzShows waits until readers of the committed see exactly these values.
func franzShows(bootstrap, topic string, wanted []string) error {
	var seen []string
	err := until("the committed records", func() bool {
		var err error
		seen, err = franzCommitted(bootstrap, topic)
		return err == nil && slices.Equal(seen, wanted)
	})
	if err != nil {
		return fmt.Errorf("wanted %v, saw %v: %w", wanted, seen, err)
	}
	return nil
}

func franzProducer(bootstrap, id, topic string) (*kgo.Client, error) {
	return franzClient(bootstrap, kgo.TransactionalID(id), kgo.DefaultProduceTopic(topic), kgo.TransactionTimeout(30*time.Second))
}

// franzTransaction sends one record in a transaction and ends it.
func franzTransaction(ctx context.Context, client *kgo.Client, value string, commit kgo.TransactionEndTry) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(ctx, commit)
}

func franzTransactions(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "txn", 1, nil)
	if err != nil {
		return err
	}
	ctx, cancel := bounded()
	defer cancel()
	id := fresh("txn")
	client, err := franzProducer(bootstrap, id, topic)
	if err != nil {
		return err
	}
	defer client.Close()
	var wanted []string
	for number := 0; number < 30; number++ {
		commit := kgo.TransactionEndTry(number%3 != 0)
		if err := franzTransaction(ctx, client, strconv.Itoa(number), commit); err != nil {
			return fmt.Errorf("transaction %d: %w", number, err)
		}
		if commit {
			wanted = append(wanted, strconv.Itoa(number))
		}
	}
	if err := franzShows(bootstrap, topic, wanted); err != nil {
		return err
	}
	admin := kadm.NewClient(client)
	described, err := admin.DescribeTransactions(ctx, id)
	if err != nil || described[id].Err != nil {
		return fmt.Errorf("describing: %v, %v", err, described[id].Err)
	}
	heir, err := franzProducer(bootstrap, id, topic)
	if err != nil {
		return err
	}
	defer heir.Close()
	if err := franzTransaction(ctx, heir, "heir", kgo.TryCommit); err != nil {
		return fmt.Errorf("the heir: %w", err)
	}
	err = franzTransaction(ctx, client, "zombie", kgo.TryCommit)
	if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		return fmt.Errorf("the zombie ended with %v", err)
	}
	return franzShows(bootstrap, topic, append(wanted, "heir"))
}

// franzSession reads, processes and writes in one transaction each, in both group protocols.
func franzSession(bootstrap string) error {
	for _, protocol := range []string{"classic", "consumer"} {
		if err := franzReadProcessWrite(bootstrap, protocol); err != nil {
			return fmt.Errorf("%s: %w", protocol, err)
		}
	}
	return nil
}

func franzReadProcessWrite(bootstrap, protocol string) error {
	source, err := franzTopic(bootstrap, "source", 1, nil)
	if err != nil {
		return err
	}
	target, err := franzTopic(bootstrap, "target", 1, nil)
	if err != nil {
		return err
	}
	ctx, cancel := bounded()
	defer cancel()
	plain, err := franzClient(bootstrap, kgo.DefaultProduceTopic(source))
	if err != nil {
		return err
	}
	defer plain.Close()
	group, id := fresh("session"), fresh("session")
	var wanted []string
	for round := 0; round < 3; round++ {
		for number := 0; number < 5; number++ {
			value := fmt.Sprintf("%d-%d", round, number)
			wanted = append(wanted, value)
			if err := plain.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
				return err
			}
		}
		if err := franzOneSession(ctx, bootstrap, protocol, group, id, source, target, 5*(round+1)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if at := committed(ctx, plain, group, source); at != 15 {
		return fmt.Errorf("committed %d of 15", at)
	}
	groups, err := kadm.NewClient(plain).ListGroupsByType(ctx, []string{protocol})
	if _, listed := groups[group]; err != nil || !listed {
		return fmt.Errorf("not listed as a group of that protocol: %v", err)
	}
	return franzShows(bootstrap, target, wanted)
}

// franzOneSession is the application: it aborts its first attempt, then carries everything up to `end` over, and goes away.
func franzOneSession(ctx context.Context, bootstrap, protocol, group, id, source, target string, end int) error {
	options := []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.TransactionalID(id), kgo.DefaultProduceTopic(target),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(), kgo.FetchMaxWait(100 * time.Millisecond)}
	if protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	} else {
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	defer session.Close()
	for attempt, position := 0, 0; position < end; attempt++ {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		last := 0
		for _, record := range fetches.Records() {
			session.Produce(ctx, &kgo.Record{Value: record.Value}, nil)
			last = int(record.Offset) + 1
		}
		done, err := session.End(ctx, kgo.TransactionEndTry(attempt > 0))
		if err != nil {
			return err
		}
		if done {
			position = last
		}
	}
	return nil
}
