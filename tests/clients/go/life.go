package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// life is a client that lives through whatever happens to a cluster, until its standard input ends (see tests/chaos/cluster).
// life follow BOOTSTRAP TOPIC PARTITIONS LEVEL: every record from the beginning, a line each: PARTITION OFFSET VALUE.
// life write BOOTSTRAP TOPIC PARTITIONS NAME RATE: numbered records; ack NUMBER PARTITION OFFSET, or fail NUMBER REASON;
// at the end: end COUNT.
func life(words []string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	partitions, err := strconv.Atoi(words[3])
	if err != nil {
		return err
	}
	seeds := kgo.SeedBrokers(strings.Split(words[1], ",")...)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if words[0] == "follow" {
		return follow(ctx, seeds, out, words[2], partitions, words[4])
	}
	rate, err := strconv.Atoi(words[5])
	if err != nil {
		return err
	}
	return write(ctx, seeds, out, words[2], partitions, words[4], rate)
}

func follow(ctx context.Context, seeds kgo.Opt, out *bufio.Writer, topic string, partitions int, level string) error {
	places := map[int32]kgo.Offset{}
	for number := 0; number < partitions; number++ {
		places[int32(number)] = kgo.NewOffset().At(0)
	}
	isolation := kgo.ReadUncommitted()
	if level == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	client, err := kgo.NewClient(seeds, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: places}),
		kgo.FetchIsolationLevel(isolation), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(one *kgo.Record) {
			fmt.Fprintf(out, "%d %d %s\n", one.Partition, one.Offset, one.Value)
		})
		out.Flush()
	}
	return nil
}

func write(ctx context.Context, seeds kgo.Opt, out *bufio.Writer, topic string, partitions int, name string, rate int) error {
	client, err := kgo.NewClient(seeds, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond),
		kgo.RecordDeliveryTimeout(120*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	var lock sync.Mutex
	count, began := 0, time.Now()
	for ctx.Err() == nil {
		if float64(count) >= time.Since(began).Seconds()*float64(rate) {
			time.Sleep(2 * time.Millisecond)
			lock.Lock()
			out.Flush()
			lock.Unlock()
			continue
		}
		number := count
		count++
		record := &kgo.Record{Topic: topic, Partition: int32(number % partitions), Value: []byte(fmt.Sprintf("%s %d", name, number))}
		client.Produce(context.Background(), record, func(done *kgo.Record, failure error) {
			lock.Lock()
			defer lock.Unlock()
			if failure == nil {
				fmt.Fprintf(out, "ack %d %d %d\n", number, done.Partition, done.Offset)
			} else {
				fmt.Fprintf(out, "fail %d %v\n", number, failure)
			}
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	fmt.Fprintf(out, "end %d\n", count)
	return nil
}
