package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"

	"github.com/IBM/sarama"
)

// at is the listener of this name of a broker of compat_tests/security: where it is, and how one connects to it.
func at(listener string, secure bool) (cases, *sarama.Config) {
	var ports map[string]string
	check(json.Unmarshal([]byte(os.Getenv("SECURED_LISTENERS")), &ports))
	c := cases{ports[listener]}
	config := c.config()
	if secure {
		roots := x509.NewCertPool()
		same(true, roots.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("SECURED_AUTHORITY")))))
		config.Net.TLS.Enable, config.Net.TLS.Config = true, &tls.Config{RootCAs: roots}
	}
	return c, config
}

func (c cases) thereAndBack(config *sarama.Config) {
	client := c.client(config)
	defer client.Close()
	admin := must(sarama.NewClusterAdminFromClient(client))
	topic := unique("topic")
	check(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
	producer := must(sarama.NewSyncProducerFromClient(client))
	_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("safe")})
	check(err)
	partition := must(must(sarama.NewConsumerFromClient(client)).ConsumePartition(topic, 0, sarama.OffsetOldest))
	same("safe", string((<-partition.Messages()).Value))
}

func plain(config *sarama.Config, password string) {
	config.Net.SASL.Enable, config.Net.SASL.Mechanism = true, sarama.SASLTypePlaintext
	config.Net.SASL.User, config.Net.SASL.Password = "alice", password
}

type bearer struct{}

func (bearer) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: os.Getenv("SECURED_TOKEN")}, nil
}

func (c cases) SecuredByTls() {
	c, config := at("SSL", true)
	c.thereAndBack(config)
}

func (c cases) SecuredByCertificates() {
	c, config := at("MUTUAL", true)
	file := os.Getenv("SECURED_CERTIFICATE")
	config.Net.TLS.Config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(file, file))}
	c.thereAndBack(config)
}

func (c cases) SecuredByPassword() {
	for listener, secure := range map[string]bool{"SASL_PLAINTEXT": false, "SASL_SSL": true} {
		c, config := at(listener, secure)
		plain(config, "alice-secret")
		c.thereAndBack(config)
	}
}

func (c cases) SecuredByToken() {
	c, config := at("TOKENS", false)
	config.Net.SASL.Enable, config.Net.SASL.Mechanism = true, sarama.SASLTypeOAuth
	config.Net.SASL.TokenProvider = bearer{}
	c.thereAndBack(config)
}

func (c cases) SecuredFromWrongPasswords() {
	c, config := at("SASL_SSL", true)
	plain(config, "wrong")
	config.Metadata.Retry.Max = 0
	_, err := sarama.NewClient([]string{c.bootstrap}, config)
	same(true, errors.Is(err, sarama.ErrSASLAuthenticationFailed))
}
