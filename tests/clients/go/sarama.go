package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 30 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	return config
}

func saramaTopic(bootstrap, stem string, partitions int32) (string, error) {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	if err != nil {
		return "", err
	}
	defer admin.Close()
	topic := fresh(stem)
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1}, false); err != nil {
		return "", err
	}
	return topic, until("topic online", func() bool {
		described, err := admin.DescribeTopics([]string{topic})
		return err == nil && len(described) == 1 && described[0].Err == sarama.ErrNoError && len(described[0].Partitions) == int(partitions)
	})
}

func saramaRead(bootstrap, topic string, count int) ([]*sarama.ConsumerMessage, error) {
	consumer, err := sarama.NewConsumer([]string{bootstrap}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	var got []*sarama.ConsumerMessage
	for len(got) < count {
		select {
		case message := <-partition.Messages():
			got = append(got, message)
		case <-time.After(120 * time.Second):
			return nil, fmt.Errorf("%d of %d messages", len(got), count)
		}
	}
	return got, nil
}

func saramaCodecs(bootstrap string) error {
	codecs := []sarama.CompressionCodec{
		sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD,
	}
	for _, codec := range codecs {
		if err := saramaCodec(bootstrap, codec); err != nil {
			return fmt.Errorf("%s: %w", codec, err)
		}
	}
	return nil
}

func saramaCodec(bootstrap string, codec sarama.CompressionCodec) error {
	topic, err := saramaTopic(bootstrap, "codec", 1)
	if err != nil {
		return err
	}
	config := saramaConfig()
	config.Producer.Compression = codec
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var sent []*sarama.ProducerMessage
	now := time.Now()
	for number := 0; number < 200; number++ {
		message := &sarama.ProducerMessage{Topic: topic, Timestamp: now.Add(time.Duration(number) * time.Millisecond)}
		if number%3 != 0 {
			message.Key = sarama.StringEncoder("key-" + strconv.Itoa(number))
		}
		message.Value = sarama.ByteEncoder(bytes.Repeat([]byte(strconv.Itoa(number)+" "), 20))
		message.Headers = []sarama.RecordHeader{{Key: []byte("trace"), Value: []byte("1")}}
		sent = append(sent, message)
	}
	if err := producer.SendMessages(sent); err != nil {
		return err
	}
	got, err := saramaRead(bootstrap, topic, len(sent))
	if err != nil {
		return err
	}
	for index, message := range got {
		value, _ := sent[index].Value.Encode()
		if message.Offset != int64(index) || !bytes.Equal(message.Value, value) || len(message.Headers) != 1 ||
			message.Timestamp.UnixMilli() != sent[index].Timestamp.UnixMilli() || (message.Key == nil) != (sent[index].Key == nil) {
			return fmt.Errorf("message %d differs: %+v", index, message)
		}
	}
	return nil
}

func saramaIdempotent(bootstrap string) error {
	topic, err := saramaTopic(bootstrap, "idempotent", 1)
	if err != nil {
		return err
	}
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewAsyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	go func() {
		for number := 0; number < 2000; number++ {
			producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(strconv.Itoa(number))}
		}
	}()
	for number := 0; number < 2000; number++ {
		select {
		case <-producer.Successes():
		case failed := <-producer.Errors():
			return failed
		case <-time.After(120 * time.Second):
			return errors.New("no acknowledgement for 20 s")
		}
	}
	if err := producer.Close(); err != nil {
		return err
	}
	got, err := saramaRead(bootstrap, topic, 2000)
	if err != nil {
		return err
	}
	for index, message := range got {
		if string(message.Value) != strconv.Itoa(index) {
			return fmt.Errorf("message %d is %s", index, message.Value)
		}
	}
	return nil
}

// saramaMember is a group member: what it owns, what it has read.
type saramaMember struct {
	mutex  sync.Mutex
	owned  map[int32]bool
	read   map[string]bool
	group  sarama.ConsumerGroup
	cancel context.CancelFunc
	done   chan struct{}
	topic  string
}

func (member *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	member.mutex.Lock()
	defer member.mutex.Unlock()
	member.owned = map[int32]bool{}
	for _, partition := range session.Claims()[member.topic] {
		member.owned[partition] = true
	}
	return nil
}

func (member *saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	member.mutex.Lock()
	defer member.mutex.Unlock()
	member.owned = map[int32]bool{}
	return nil
}

func (member *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			member.mutex.Lock()
			member.read[fmt.Sprintf("%d/%d", message.Partition, message.Offset)] = true
			member.mutex.Unlock()
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func newSaramaMember(bootstrap, name, topic string, strategy sarama.BalanceStrategy) (*saramaMember, error) {
	config := saramaConfig()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	group, err := sarama.NewConsumerGroup([]string{bootstrap}, name, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	member := &saramaMember{read: map[string]bool{}, group: group, cancel: cancel, done: make(chan struct{}), topic: topic}
	go func() {
		defer close(member.done)
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{topic}, member); err != nil {
				return
			}
		}
	}()
	return member, nil
}

func (member *saramaMember) leave() {
	member.cancel()
	<-member.done
	member.group.Close()
}

func saramaShares(members ...*saramaMember) string {
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
	if len(seen) != 6 || total != 6 {
		return "unsettled"
	}
	return text
}

func saramaGroups(bootstrap string) error {
	strategies := []sarama.BalanceStrategy{
		sarama.NewBalanceStrategyRange(), sarama.NewBalanceStrategyRoundRobin(), sarama.NewBalanceStrategySticky(),
	}
	for _, strategy := range strategies {
		if err := saramaGroup(bootstrap, strategy); err != nil {
			return fmt.Errorf("%s: %w", strategy.Name(), err)
		}
	}
	return nil
}

func saramaGroup(bootstrap string, strategy sarama.BalanceStrategy) error {
	topic, err := saramaTopic(bootstrap, "group", 6)
	if err != nil {
		return err
	}
	group := fresh("group")
	var members []*saramaMember
	for index := 0; index < 3; index++ {
		member, err := newSaramaMember(bootstrap, group, topic, strategy)
		if err != nil {
			return err
		}
		members = append(members, member)
		if index == 0 {
			if err := until("one member owns all", func() bool { return saramaShares(member) == "6 " }); err != nil {
				return err
			}
		}
	}
	if err := until("three share", func() bool { return saramaShares(members...) == "2 2 2 " }); err != nil {
		return err
	}
	config := saramaConfig()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for number := 0; number < 300; number++ {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Partition: int32(number % 6), Value: sarama.StringEncoder("v")})
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	members[0].leave()
	if err := until("two share", func() bool { return saramaShares(members[1:]...) == "3 3 " }); err != nil {
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
	members[1].leave()
	members[2].leave()
	return err
}

func saramaAdmin(bootstrap string) error {
	topic, err := saramaTopic(bootstrap, "admin", 2)
	if err != nil {
		return err
	}
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return fmt.Errorf("creating twice: %v", err)
	}
	if err := admin.CreatePartitions(topic, 3, nil, false); err != nil {
		return err
	}
	value := "1234567"
	entries := map[string]sarama.IncrementalAlterConfigsEntry{
		"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
	}
	if err := admin.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false); err != nil {
		return err
	}
	err = until("the new config", func() bool {
		configs, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
		if err != nil {
			return false
		}
		for _, config := range configs {
			if config.Name == "retention.ms" {
				return config.Value == value
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	brokers, controller, err := admin.DescribeCluster()
	if err != nil || len(brokers) != 1 || brokers[0].ID() != controller {
		return fmt.Errorf("the cluster: %v, %v, controller %d", err, brokers, controller)
	}
	if _, err := admin.ListConsumerGroups(); err != nil {
		return err
	}
	if _, err := admin.DescribeLogDirs([]int32{controller}); err != nil {
		return err
	}
	if err := admin.DeleteRecords(topic, map[int32]int64{0: 0}); err != nil {
		return err
	}
	return admin.DeleteTopic(topic)
}
