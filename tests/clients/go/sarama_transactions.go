package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

func saramaTransactional(bootstrap, id string) (sarama.SyncProducer, error) {
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = id
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Transaction.Retry.Backoff = 20 * time.Millisecond
	config.Net.MaxOpenRequests = 1
	return sarama.NewSyncProducer([]string{bootstrap}, config)
}

// saramaCommitted reads what is committed in partition 0, up to a record with the value "end".
func saramaCommitted(bootstrap, topic string) ([]string, error) {
	config := saramaConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	consumer, err := sarama.NewConsumer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	var values []string
	for {
		select {
		case message := <-partition.Messages():
			if string(message.Value) == "end" {
				return values, nil
			}
			values = append(values, string(message.Value))
		case <-time.After(120 * time.Second):
			return nil, fmt.Errorf("no end after %v", values)
		}
	}
}

func saramaTransactions(bootstrap string) error {
	topic, err := saramaTopic(bootstrap, "txn", 1)
	if err != nil {
		return err
	}
	source, err := saramaTopic(bootstrap, "source", 1)
	if err != nil {
		return err
	}
	id, group := fresh("txn"), fresh("txn")
	producer, err := saramaTransactional(bootstrap, id)
	if err != nil {
		return err
	}
	var wanted []string
	for number := 0; number <= 20; number++ {
		value := strconv.Itoa(number)
		if number == 20 {
			value = "end"
		}
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}); err != nil {
			return err
		}
		offsets := map[string][]*sarama.PartitionOffsetMetadata{source: {{Partition: 0, Offset: int64(number)}}}
		if err := producer.AddOffsetsToTxn(offsets, group); err != nil {
			return err
		}
		end := producer.CommitTxn
		if number%3 == 1 {
			end = producer.AbortTxn
		} else if number < 20 {
			wanted = append(wanted, value)
		}
		if err := end(); err != nil {
			return fmt.Errorf("ending transaction %d: %w", number, err)
		}
	}
	seen, err := saramaCommitted(bootstrap, topic)
	if err != nil {
		return err
	}
	if !slices.Equal(seen, wanted) {
		return fmt.Errorf("wanted %v, saw %v", wanted, seen)
	}
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	err = until("the offset of the last transaction", func() bool {
		found, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{source: {0}})
		return err == nil && found.GetBlock(source, 0).Offset == 20
	})
	if err != nil {
		return err
	}
	heir, err := saramaTransactional(bootstrap, id)
	if err != nil {
		return err
	}
	defer heir.Close()
	_ = producer.BeginTxn()
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("zombie")}); err == nil {
		return fmt.Errorf("a fenced producer could write")
	}
	_ = producer.Close()
	return nil
}
