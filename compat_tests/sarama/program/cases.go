package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type cases struct{ bootstrap string }

func (c cases) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	return config
}

func (c cases) client(config *sarama.Config) sarama.Client {
	return must(sarama.NewClient([]string{c.bootstrap}, config))
}

func (c cases) admin() sarama.ClusterAdmin {
	return must(sarama.NewClusterAdmin([]string{c.bootstrap}, c.config()))
}

func (c cases) topic(partitions int32, settings map[string]*string) string {
	admin := c.admin()
	defer admin.Close()
	name := unique("topic")
	check(admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: settings}, false))
	return name
}

func (c cases) fill(topic string, count int, config *sarama.Config) {
	client := c.client(config)
	defer client.Close()
	producer := must(sarama.NewSyncProducerFromClient(client))
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for i := range count {
		key, value := fmt.Sprintf("key%d", i%10), fmt.Sprintf("value%d", i)
		message := sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(key), Value: sarama.StringEncoder(value)}
		messages = append(messages, &message)
	}
	check(producer.SendMessages(messages))
}

func (c cases) read(topic string, from int64, count int) (messages []*sarama.ConsumerMessage) {
	client := c.client(c.config())
	defer client.Close()
	consumer := must(sarama.NewConsumerFromClient(client))
	defer consumer.Close()
	partition := must(consumer.ConsumePartition(topic, 0, from))
	defer partition.Close()
	for len(messages) < count {
		select {
		case message := <-partition.Messages():
			messages = append(messages, message)
		case <-time.After(60 * time.Second):
			panic(fmt.Sprintf("only %d of %d records came", len(messages), count))
		}
	}
	return messages
}

func (c cases) roundTrip(codec sarama.CompressionCodec, acks sarama.RequiredAcks) {
	topic, config := c.topic(1, nil), c.config()
	config.Producer.Compression = codec
	config.Producer.RequiredAcks = acks
	c.fill(topic, 200, config)
	for i, message := range c.read(topic, sarama.OffsetOldest, 200) {
		same(fmt.Sprintf("value%d", i), string(message.Value))
	}
}

func (c cases) CodecNone()   { c.roundTrip(sarama.CompressionNone, sarama.WaitForAll) }
func (c cases) CodecGzip()   { c.roundTrip(sarama.CompressionGZIP, sarama.WaitForAll) }
func (c cases) CodecSnappy() { c.roundTrip(sarama.CompressionSnappy, sarama.WaitForAll) }
func (c cases) CodecLz4()    { c.roundTrip(sarama.CompressionLZ4, sarama.WaitForAll) }
func (c cases) CodecZstd()   { c.roundTrip(sarama.CompressionZSTD, sarama.WaitForAll) }
func (c cases) AcksNone()    { c.roundTrip(sarama.CompressionNone, sarama.NoResponse) }
func (c cases) AcksLocal()   { c.roundTrip(sarama.CompressionNone, sarama.WaitForLocal) }

func (c cases) OldestVersionStillServed() {
	topic, config := c.topic(1, nil), c.config()
	config.Version = sarama.V2_1_0_0
	c.fill(topic, 50, config)
	same("value49", string(c.read(topic, 49, 1)[0].Value))
}

func (c cases) Idempotent() {
	topic, config := c.topic(1, nil), c.config()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Producer.Flush.MaxMessages = 10
	c.fill(topic, 500, config)
	for i, message := range c.read(topic, sarama.OffsetOldest, 500) {
		same(int64(i), message.Offset)
		same(fmt.Sprintf("value%d", i), string(message.Value))
	}
}

func (c cases) HeadersAndTimestamp() {
	topic := c.topic(1, nil)
	producer := must(sarama.NewSyncProducer([]string{c.bootstrap}, c.config()))
	defer producer.Close()
	headers := []sarama.RecordHeader{{Key: []byte("trace"), Value: []byte{0, 255}}}
	sent := sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder("k"), Headers: headers, Timestamp: time.UnixMilli(1_600_000_000_123)}
	_, offset, err := producer.SendMessage(&sent)
	same(int64(0), must(offset, err))
	found := c.read(topic, 0, 1)[0]
	same("trace", string(found.Headers[0].Key))
	same([]byte{0, 255}, found.Headers[0].Value)
	same(int64(1_600_000_000_123), found.Timestamp.UnixMilli())
}

func (c cases) TooLarge() {
	most := "1000"
	topic := c.topic(1, map[string]*string{"max.message.bytes": &most})
	producer := must(sarama.NewSyncProducer([]string{c.bootstrap}, c.config()))
	defer producer.Close()
	_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(make([]byte, 5000))})
	same(true, errors.Is(err, sarama.ErrMessageSizeTooLarge))
}

func (c cases) OffsetsByTime() {
	topic := c.topic(1, nil)
	client := c.client(c.config())
	defer client.Close()
	producer := must(sarama.NewSyncProducerFromClient(client))
	for i := range int64(10) {
		at := time.UnixMilli(1_700_000_000_000 + 1000*i)
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("v"), Timestamp: at})
		check(err)
	}
	same(int64(4), must(client.GetOffset(topic, 0, 1_700_000_003_500)))
	same(int64(0), must(client.GetOffset(topic, 0, sarama.OffsetOldest)))
	same(int64(10), must(client.GetOffset(topic, 0, sarama.OffsetNewest)))
}

// member is a consumer group's handler: it counts what it is given and notes each record's place.
type member struct {
	lock   sync.Mutex
	places map[string]bool
	holds  int
	most   int
	done   context.CancelFunc
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.holds = 0
	for _, partitions := range session.Claims() {
		m.holds += len(partitions)
	}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.note(session, message)
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) note(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if len(m.places) == m.most {
		return
	}
	m.places[fmt.Sprint(message.Partition, "/", message.Offset)] = true
	session.MarkMessage(message, "")
	if len(m.places) == m.most {
		session.Commit()
		m.done()
	}
}

// consume runs a member until it has its records or the context ends.
func (c cases) consume(context context.Context, group, topic string, handler *member) {
	consumer := must(sarama.NewConsumerGroup([]string{c.bootstrap}, group, c.config()))
	defer consumer.Close()
	for context.Err() == nil {
		check(consumer.Consume(context, []string{topic}, handler))
	}
}

func (c cases) GroupCommitsAndResumes() {
	topic, group := c.topic(3, nil), unique("group")
	c.fill(topic, 30, c.config())
	all := map[string]bool{}
	for _, count := range []int{12, 18} {
		limit, done := context.WithTimeout(context.Background(), 60*time.Second)
		one := &member{places: map[string]bool{}, most: count, done: done}
		c.consume(limit, group, topic, one)
		for place := range one.places {
			all[place] = true
		}
	}
	same(30, len(all))
}

func (c cases) GroupSharesPartitions() {
	topic, group := c.topic(4, nil), unique("group")
	one, two := &member{most: -1, places: map[string]bool{}}, &member{most: -1, places: map[string]bool{}}
	ending, end := context.WithCancel(context.Background())
	var both sync.WaitGroup
	for _, each := range []*member{one, two} {
		both.Add(1)
		go func() {
			defer both.Done()
			c.consume(ending, group, topic, each)
		}()
	}
	held := func(m *member) int {
		m.lock.Lock()
		defer m.lock.Unlock()
		return m.holds
	}
	for deadline := time.Now().Add(60 * time.Second); held(one) != 2 || held(two) != 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic(fmt.Sprintf("the members hold %d and %d partitions", held(one), held(two)))
		}
	}
	end()
	both.Wait()
}

func (c cases) AdminOfTopics() {
	admin := c.admin()
	defer admin.Close()
	topic := c.topic(2, nil)
	err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	same(true, errors.Is(err, sarama.ErrTopicAlreadyExists))
	retention := "60000"
	check(admin.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
		"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &retention},
	}, false))
	until(func() bool {
		wanted := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
		return must(admin.DescribeConfig(wanted))[0].Value == "60000"
	})
	check(admin.CreatePartitions(topic, 3, nil, false))
	until(func() bool { return len(must(admin.DescribeTopics([]string{topic}))[0].Partitions) == 3 })
	config := c.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	c.fill(topic, 10, config)
	check(admin.DeleteRecords(topic, map[int32]int64{0: 4}))
	same(int64(4), c.read(topic, sarama.OffsetOldest, 1)[0].Offset)
	same(1, len(must(admin.DescribeLogDirs([]int32{1}))[1]))
	check(admin.DeleteTopic(topic))
	until(func() bool { _, there := must(admin.ListTopics())[topic]; return !there })
}

func (c cases) AdminOfGroups() {
	admin := c.admin()
	defer admin.Close()
	topic, group := c.topic(1, nil), unique("group")
	c.fill(topic, 3, c.config())
	limit, done := context.WithTimeout(context.Background(), 60*time.Second)
	c.consume(limit, group, topic, &member{places: map[string]bool{}, most: 3, done: done})
	same("consumer", must(admin.ListConsumerGroups())[group])
	offsets := must(admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}}))
	same(int64(3), offsets.GetBlock(topic, 0).Offset)
	until(func() bool { return must(admin.DescribeConsumerGroups([]string{group}))[0].State == "Empty" })
	check(admin.DeleteConsumerGroup(group))
}

func until(done func() bool) {
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic("the expected state did not come")
		}
	}
}
