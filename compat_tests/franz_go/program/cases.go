package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type cases struct{ bootstrap string }

func limit() context.Context {
	background, _ := context.WithTimeout(context.Background(), 60*time.Second)
	return background
}

func (c cases) client(options ...kgo.Opt) *kgo.Client {
	return must(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.bootstrap)}, options...)...))
}

func (c cases) topic(partitions int32) string {
	client := c.client()
	defer client.Close()
	name := unique("topic")
	must(kadm.NewClient(client).CreateTopic(limit(), partitions, 1, nil, name))
	return name
}

func (c cases) fill(topic string, count int, options ...kgo.Opt) {
	client := c.client(options...)
	defer client.Close()
	for i := range count {
		record := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key%d", i%10), Value: fmt.Appendf(nil, "value%d", i)}
		client.Produce(limit(), record, func(_ *kgo.Record, err error) { check(err) })
	}
	check(client.Flush(limit()))
}

func read(client *kgo.Client, count int) (records []*kgo.Record) {
	for len(records) < count {
		fetches := client.PollRecords(limit(), count-len(records))
		check(fetches.Err())
		records = append(records, fetches.Records()...)
	}
	return records
}

func (c cases) roundTrip(codec kgo.CompressionCodec) {
	topic := c.topic(1)
	c.fill(topic, 300, kgo.ProducerBatchCompression(codec))
	client := c.client(kgo.ConsumeTopics(topic))
	defer client.Close()
	for i, record := range read(client, 300) {
		same(fmt.Sprintf("value%d", i), string(record.Value))
	}
}

func (c cases) CodecNone()   { c.roundTrip(kgo.NoCompression()) }
func (c cases) CodecGzip()   { c.roundTrip(kgo.GzipCompression()) }
func (c cases) CodecSnappy() { c.roundTrip(kgo.SnappyCompression()) }
func (c cases) CodecLz4()    { c.roundTrip(kgo.Lz4Compression()) }
func (c cases) CodecZstd()   { c.roundTrip(kgo.ZstdCompression()) }

func (c cases) AcksNone() {
	topic := c.topic(1)
	c.fill(topic, 20, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	client := c.client(kgo.ConsumeTopics(topic))
	defer client.Close()
	same(20, len(read(client, 20)))
}

func (c cases) AcksLeader() {
	topic := c.topic(1)
	c.fill(topic, 20, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	client := c.client(kgo.ConsumeTopics(topic))
	defer client.Close()
	same(20, len(read(client, 20)))
}

func (c cases) HeadersAndTimestamp() {
	topic := c.topic(1)
	client := c.client(kgo.ConsumeTopics(topic))
	defer client.Close()
	headers := []kgo.RecordHeader{{Key: "trace", Value: []byte{0, 255}}, {Key: "trace", Value: []byte{}}}
	sent := kgo.Record{Topic: topic, Key: []byte("k"), Headers: headers, Timestamp: time.UnixMilli(1_600_000_000_123)}
	check(client.ProduceSync(limit(), &sent).FirstErr())
	found := read(client, 1)[0]
	same("k", string(found.Key))
	same(true, found.Value == nil)
	same(headers, found.Headers)
	same(int64(1_600_000_000_123), found.Timestamp.UnixMilli())
}

func (c cases) TooLarge() {
	client := c.client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	defer client.Close()
	topic, most := unique("topic"), "1000"
	must(kadm.NewClient(client).CreateTopic(limit(), 1, 1, map[string]*string{"max.message.bytes": &most}, topic))
	err := client.ProduceSync(limit(), &kgo.Record{Topic: topic, Value: make([]byte, 5000)}).FirstErr()
	same(true, errors.Is(err, kerr.MessageTooLarge))
}

func (c cases) CreatesTopicsWhereAsked() {
	topic := unique("auto")
	c.fill(topic, 1, kgo.AllowAutoTopicCreation())
}

func (c cases) GroupCommitsAndResumes() {
	topic, group := c.topic(3), unique("group")
	c.fill(topic, 30)
	first := c.client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit())
	seen := read(first, 12)
	check(first.CommitRecords(limit(), seen...))
	first.Close()
	second := c.client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group))
	defer second.Close()
	seen = append(seen, read(second, 18)...)
	places := map[string]bool{}
	for _, record := range seen {
		places[fmt.Sprint(record.Partition, record.Offset)] = true
	}
	same(30, len(places))
}

func (c cases) GroupSharesPartitions() {
	topic, group := c.topic(4), unique("group")
	options := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.HeartbeatInterval(100 * time.Millisecond)}
	one, two := c.client(options...), c.client(options...)
	defer one.Close()
	admin := kadm.NewClient(c.client())
	defer admin.Close()
	until(func() bool { return len(membersOf(admin, group)) == 2 && assigned(admin, group, 2) })
	two.Close()
	until(func() bool { return len(membersOf(admin, group)) == 1 && assigned(admin, group, 4) })
}

func membersOf(admin *kadm.Client, group string) []kadm.DescribedGroupMember {
	described := must(admin.DescribeGroups(limit(), group))[group]
	if described.State != "Stable" {
		return nil
	}
	return described.Members
}

func assigned(admin *kadm.Client, group string, each int) bool {
	for _, member := range membersOf(admin, group) {
		consumer, _ := member.Assigned.AsConsumer()
		if consumer == nil || len(consumer.Topics) != 1 || len(consumer.Topics[0].Partitions) != each {
			return false
		}
	}
	return true
}

func until(done func() bool) {
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic("the group did not reach the expected state")
		}
	}
}

func (c cases) OffsetsByTime() {
	topic := c.topic(1)
	client := c.client()
	defer client.Close()
	for i := range int64(10) {
		record := &kgo.Record{Topic: topic, Value: []byte("v"), Timestamp: time.UnixMilli(1_700_000_000_000 + 1000*i)}
		check(client.ProduceSync(limit(), record).FirstErr())
	}
	admin := kadm.NewClient(client)
	offset := func(listed kadm.ListedOffsets, err error) int64 {
		return must(listed, err)[topic][0].Offset
	}
	same(int64(4), offset(admin.ListOffsetsAfterMilli(limit(), 1_700_000_003_500, topic)))
	same(int64(0), offset(admin.ListStartOffsets(limit(), topic)))
	same(int64(10), offset(admin.ListEndOffsets(limit(), topic)))
	same(int64(10), offset(admin.ListCommittedOffsets(limit(), topic)))
}

func (c cases) ReadsFromAnOffset() {
	topic := c.topic(1)
	c.fill(topic, 10)
	from := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(7)}}
	client := c.client(kgo.ConsumePartitions(from))
	defer client.Close()
	same(int64(7), read(client, 3)[0].Offset)
}

func (c cases) AdminOfTopics() {
	client := c.client()
	defer client.Close()
	admin := kadm.NewClient(client)
	topic := c.topic(2)
	_, err := admin.CreateTopic(limit(), 1, 1, nil, topic)
	same(true, errors.Is(err, kerr.TopicAlreadyExists))
	_, err = admin.CreateTopic(limit(), 1, 1, nil, "no spaces")
	same(true, errors.Is(err, kerr.InvalidTopicException))
	must(admin.UpdatePartitions(limit(), 3, topic))
	until(func() bool { return len(must(admin.ListTopics(limit(), topic))[topic].Partitions) == 3 })
	configs := must(must(admin.DescribeTopicConfigs(limit(), topic)).On(topic, nil))
	same(true, len(configs.Configs) > 20)
	c.fill(topic, 30)
	deletions := kadm.Offsets{}
	deletions.Add(kadm.Offset{Topic: topic, Partition: 0, At: 1})
	must(admin.DeleteRecords(limit(), deletions))
	same(int64(1), must(admin.ListStartOffsets(limit(), topic))[topic][0].Offset)
	same(1, len(must(admin.DescribeAllLogDirs(limit(), nil))[1]))
	must(admin.DeleteTopics(limit(), topic))
	until(func() bool { return !must(admin.ListTopics(limit())).Has(topic) })
}

func (c cases) AdminOfGroups() {
	topic, group := c.topic(2), unique("group")
	client := c.client()
	defer client.Close()
	admin := kadm.NewClient(client)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 5, LeaderEpoch: -1, Metadata: "note"})
	check(admin.CommitAllOffsets(limit(), group, offsets))
	found, there := must(admin.FetchOffsets(limit(), group)).Lookup(topic, 1)
	same(true, there)
	same("note", found.Metadata)
	same(true, len(must(admin.ListGroups(limit()))[group].Group) > 0)
	must(admin.DeleteGroup(limit(), group))
	same("Dead", must(admin.DescribeGroups(limit(), group))[group].State)
}
