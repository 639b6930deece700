package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 200*time.Second)
}

func franzClient(bootstrap string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
}

// franzTopic creates a topic and waits until it serves.
func franzTopic(bootstrap, stem string, partitions int32, configs map[string]string) (string, error) {
	client, err := franzClient(bootstrap)
	if err != nil {
		return "", err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	topic := fresh(stem)
	values := map[string]*string{}
	for name, value := range configs {
		values[name] = kadm.StringPtr(value)
	}
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, partitions, 1, values, topic); err != nil {
		return "", err
	}
	return topic, until("topic online", func() bool {
		offsets, err := admin.ListEndOffsets(ctx, topic)
		return err == nil && offsets.Error() == nil && len(offsets[topic]) == int(partitions)
	})
}

// franzRead reads count records of a topic from its beginning.
func franzRead(bootstrap, topic string, count int) ([]*kgo.Record, error) {
	client, err := franzClient(bootstrap, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d of %d records: %w", len(records), count, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records, nil
}

func franzCodecs(bootstrap string) error {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		if err := franzCodec(bootstrap, name, codec); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func franzCodec(bootstrap, name string, codec kgo.CompressionCodec) error {
	topic, err := franzTopic(bootstrap, "codec-"+name, 1, nil)
	if err != nil {
		return err
	}
	client, err := franzClient(bootstrap, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	var sent []*kgo.Record
	now := time.Now().UnixMilli()
	for number := 0; number < 300; number++ {
		record := &kgo.Record{Timestamp: time.UnixMilli(now + int64(number))}
		if number%3 != 0 {
			record.Key = []byte("key-" + strconv.Itoa(number))
		}
		if number%7 != 0 {
			record.Value = bytes.Repeat([]byte(strconv.Itoa(number)+" "), 20)
		}
		if number%2 == 1 {
			record.Headers = []kgo.RecordHeader{{Key: "trace", Value: []byte("1")}, {Key: "null"}, {Key: "trace", Value: []byte{}}}
		}
		sent = append(sent, record)
	}
	if err := client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		return err
	}
	got, err := franzRead(bootstrap, topic, len(sent))
	if err != nil {
		return err
	}
	for index, record := range got {
		want := sent[index]
		if record.Offset != int64(index) || !bytes.Equal(record.Key, want.Key) || !bytes.Equal(record.Value, want.Value) ||
			(record.Key == nil) != (want.Key == nil) || (record.Value == nil) != (want.Value == nil) ||
			record.Timestamp.UnixMilli() != want.Timestamp.UnixMilli() || len(record.Headers) != len(want.Headers) {
			return fmt.Errorf("record %d differs: %+v, sent %+v", index, record, want)
		}
		for at, header := range record.Headers {
			if header.Key != want.Headers[at].Key || !bytes.Equal(header.Value, want.Headers[at].Value) {
				return fmt.Errorf("record %d: header %d differs", index, at)
			}
		}
	}
	return nil
}

func franzLarge(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "large", 1, map[string]string{"max.message.bytes": "11000000"})
	if err != nil {
		return err
	}
	small, err := franzTopic(bootstrap, "small", 1, map[string]string{"max.message.bytes": "100000"})
	if err != nil {
		return err
	}
	client, err := franzClient(bootstrap, kgo.ProducerBatchMaxBytes(11_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	value := bytes.Repeat([]byte("0123456789"), 1<<20)
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
		return err
	}
	got, err := franzRead(bootstrap, topic, 1)
	if err != nil {
		return err
	}
	if !bytes.Equal(got[0].Value, value) {
		return errors.New("the large value changed")
	}
	err = client.ProduceSync(ctx, &kgo.Record{Topic: small, Value: value[:200_000]}).FirstErr()
	if !errors.Is(err, kerr.MessageTooLarge) {
		return fmt.Errorf("beyond the topic's limit: wanted MESSAGE_TOO_LARGE, got %v", err)
	}
	return nil
}

// franzMember is a group member: what it owns, what it has read.
type franzMember struct {
	client *kgo.Client
	mutex  sync.Mutex
	owned  map[int32]bool
	read   map[string]bool
	joined int
	done   chan struct{}
}

func newFranzMember(bootstrap, group, topic string, options ...kgo.Opt) (*franzMember, error) {
	member := &franzMember{owned: map[int32]bool{}, read: map[string]bool{}, done: make(chan struct{})}
	change := func(value bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			member.mutex.Lock()
			defer member.mutex.Unlock()
			if value {
				member.joined++
			}
			for _, partition := range partitions[topic] {
				if value {
					member.owned[partition] = true
				} else {
					delete(member.owned, partition)
				}
			}
		}
	}
	base := []kgo.Opt{
		kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(200 * time.Millisecond), kgo.SessionTimeout(30 * time.Second), kgo.AutoCommitInterval(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)),
	}
	client, err := franzClient(bootstrap, append(base, options...)...)
	if err != nil {
		return nil, err
	}
	member.client = client
	go func() {
		defer close(member.done)
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(func(record *kgo.Record) {
				member.mutex.Lock()
				member.read[fmt.Sprintf("%d/%d", record.Partition, record.Offset)] = true
				member.mutex.Unlock()
			})
		}
	}()
	return member, nil
}

// leave commits what was read and leaves the group (a static member only goes away).
func (member *franzMember) leave() {
	ctx, cancel := bounded()
	defer cancel()
	_ = member.client.CommitUncommittedOffsets(ctx) // refused during a rebalance: read again by another
	member.client.Close()
	<-member.done
}

// shares says how many partitions each owns, provided that together they own all of them once.
func shares(partitions int, members ...*franzMember) string {
	seen, total, text := map[int32]bool{}, 0, ""
	for _, member := range members {
		member.mutex.Lock()
		for partition := range member.owned {
			seen[partition] = true
			total++
		}
		text += strconv.Itoa(len(member.owned)) + " "
		member.mutex.Unlock()
	}
	if len(seen) != partitions || total != partitions {
		return "unsettled"
	}
	return text
}

func franzGroups(bootstrap string) error {
	balancers := map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
		"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}
	for name, balancer := range balancers {
		if err := franzGroup(bootstrap, balancer); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func franzGroup(bootstrap string, balancer kgo.GroupBalancer) error {
	topic, err := franzTopic(bootstrap, "group", 6, nil)
	if err != nil {
		return err
	}
	group := fresh("group")
	var members []*franzMember
	for index := 0; index < 3; index++ {
		member, err := newFranzMember(bootstrap, group, topic, kgo.Balancers(balancer))
		if err != nil {
			return err
		}
		members = append(members, member)
		if index == 0 {
			if err := until("one member owns all", func() bool { return shares(6, member) == "6 " }); err != nil {
				return err
			}
		}
	}
	if err := until("three share", func() bool { return shares(6, members...) == "2 2 2 " }); err != nil {
		return err
	}
	producer, err := franzClient(bootstrap, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := bounded()
	defer cancel()
	for number := 0; number < 300; number++ {
		producer.Produce(ctx, &kgo.Record{Partition: int32(number % 6), Value: []byte("v")}, nil)
	}
	if err := producer.Flush(ctx); err != nil {
		return err
	}
	members[0].leave()
	if err := until("two share", func() bool { return shares(6, members[1:]...) == "3 3 " }); err != nil {
		return err
	}
	err = until("every record", func() bool {
		seen := map[string]bool{}
		for _, member := range members {
			member.mutex.Lock()
			for place := range member.read {
				seen[place] = true
			}
			member.mutex.Unlock()
		}
		return len(seen) == 300
	})
	if err == nil {
		err = until("everything committed", func() bool { return committed(ctx, producer, group, topic) == 300 })
	}
	members[1].leave()
	members[2].leave()
	return err
}

// committed is the sum of a group's committed offsets in a topic.
func committed(ctx context.Context, client *kgo.Client, group, topic string) int64 {
	offsets, err := kadm.NewClient(client).FetchOffsets(ctx, group)
	if err != nil {
		return -1
	}
	var sum int64
	for _, offset := range offsets[topic] {
		sum += offset.At
	}
	return sum
}

func franzStatic(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "static", 4, nil)
	if err != nil {
		return err
	}
	group := fresh("static")
	options := func(instance string) []kgo.Opt {
		return []kgo.Opt{kgo.InstanceID(instance), kgo.Balancers(kgo.RangeBalancer()), kgo.SessionTimeout(30 * time.Second)}
	}
	stays, err := newFranzMember(bootstrap, group, topic, options("stays")...)
	if err != nil {
		return err
	}
	defer stays.leave()
	goes, err := newFranzMember(bootstrap, group, topic, options("goes")...)
	if err != nil {
		return err
	}
	if err := until("two share", func() bool { return shares(4, stays, goes) == "2 2 " }); err != nil {
		return err
	}
	before := stays.joined
	goes.leave() // a static member that closes does not leave the group
	back, err := newFranzMember(bootstrap, group, topic, options("goes")...)
	if err != nil {
		return err
	}
	defer back.leave()
	if err := until("back again", func() bool { return shares(4, stays, back) == "2 2 " }); err != nil {
		return err
	}
	if stays.joined != before {
		return errors.New("the other member was disturbed")
	}
	return nil
}

func franzTime(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "time", 1, nil)
	if err != nil {
		return err
	}
	client, err := franzClient(bootstrap, kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	start := time.Now().UnixMilli() - 1_000_000
	for number := 0; number < 100; number++ {
		client.Produce(ctx, &kgo.Record{Timestamp: time.UnixMilli(start + int64(number)*1000), Value: []byte(strconv.Itoa(number))}, nil)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	offsets, err := kadm.NewClient(client).ListOffsetsAfterMilli(ctx, start+41_500, topic)
	if err != nil {
		return err
	}
	if found, _ := offsets.Lookup(topic, 0); found.Offset != 42 {
		return fmt.Errorf("by time: offset %d", found.Offset)
	}
	reader, err := franzClient(bootstrap, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(start+90_000)))
	if err != nil {
		return err
	}
	defer reader.Close()
	records := reader.PollFetches(ctx).Records()
	if len(records) == 0 || string(records[0].Value) != "90" {
		return fmt.Errorf("reading from a time began at %+v", records)
	}
	return nil
}

func franzAdmin(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "admin", 2, map[string]string{"retention.ms": "1000000"})
	if err != nil {
		return err
	}
	client, err := franzClient(bootstrap)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("creating twice: %v", err)
	}
	if _, err := admin.UpdatePartitions(ctx, 4, topic); err != nil {
		return err
	}
	err = until("four partitions", func() bool {
		details, err := admin.ListTopics(ctx, topic)
		return err == nil && len(details[topic].Partitions) == 4
	})
	if err != nil {
		return err
	}
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "segment.bytes", Value: kadm.StringPtr("2000000")}}
	if altered, err := admin.AlterTopicConfigs(ctx, change, topic); err != nil || altered[0].Err != nil {
		return fmt.Errorf("altering configs: %v, %v", err, altered)
	}
	err = until("the new config", func() bool {
		configs, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return false
		}
		found := map[string]string{}
		for _, config := range configs[0].Configs {
			found[config.Key] = config.MaybeValue()
		}
		return found["segment.bytes"] == "2000000" && found["retention.ms"] == "1000000"
	})
	if err != nil {
		return err
	}
	dirs, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil || len(dirs) != 1 {
		return fmt.Errorf("log directories: %v, %v", err, dirs)
	}
	versions, err := admin.ApiVersions(ctx)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if _, highest, known := version.KeyVersions(0); !known || highest < 9 {
			return fmt.Errorf("Produce up to version %d", highest)
		}
	}
	metadata, err := admin.BrokerMetadata(ctx)
	if err != nil || len(metadata.Brokers) != 1 {
		return fmt.Errorf("metadata: %v, %+v", err, metadata)
	}
	group := fresh("admin")
	commit := kadm.Offsets{}
	commit.AddOffset(topic, 0, 0, -1)
	if committed, err := admin.CommitOffsets(ctx, group, commit); err != nil || committed.Error() != nil {
		return fmt.Errorf("committing: %v, %v", err, committed.Error())
	}
	lags, err := admin.Lag(ctx, group)
	if err != nil || lags.Error() != nil {
		return fmt.Errorf("lag: %v, %v", err, lags.Error())
	}
	if deleted, err := admin.DeleteGroups(ctx, group); err != nil || deleted.Error() != nil {
		return fmt.Errorf("deleting the group: %v", err)
	}
	if deleted, err := admin.DeleteTopics(ctx, topic); err != nil || deleted.Error() != nil {
		return fmt.Errorf("deleting the topic: %v", err)
	}
	return nil
}

// franzRecreate deletes and recreates a topic under a consumer and producer that know it by its id.
func franzRecreate(bootstrap string) error {
	topic, err := franzTopic(bootstrap, "recreate", 1, nil)
	if err != nil {
		return err
	}
	client, err := franzClient(bootstrap, kgo.DefaultProduceTopic(topic), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := bounded()
	defer cancel()
	admin := kadm.NewClient(client)
	before, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, kgo.StringRecord("old")).FirstErr(); err != nil {
		return err
	}
	if deleted, err := admin.DeleteTopics(ctx, topic); err != nil || deleted.Error() != nil {
		return fmt.Errorf("deleting: %v", err)
	}
	err = until("the topic again", func() bool {
		_, err := admin.CreateTopic(ctx, 1, 1, nil, topic)
		return err == nil
	})
	if err != nil {
		return err
	}
	err = until("a new id", func() bool {
		after, err := admin.ListTopics(ctx, topic)
		return err == nil && after[topic].Err == nil && after[topic].ID != before[topic].ID
	})
	if err != nil {
		return err
	}
	other, err := franzClient(bootstrap, kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer other.Close()
	if err := other.ProduceSync(ctx, kgo.StringRecord("new")).FirstErr(); err != nil {
		return err
	}
	got, err := franzRead(bootstrap, topic, 1)
	if err != nil {
		return err
	}
	if string(got[0].Value) != "new" || got[0].Offset != 0 {
		return fmt.Errorf("the new topic begins with %+v", got[0])
	}
	return nil
}
