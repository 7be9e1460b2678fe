package main

import (
	"encoding/base64"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// byToken makes a token as alice, and with it a client that signs in by it writes and reads. The broker is one of
// compat_tests/security, which has alice.
func (c cases) byToken(mechanism func(scram.Auth) sasl.Mechanism) {
	password := plain.Auth{User: "alice", Pass: "alice-secret"}.AsMechanism()
	alice := c.client(kgo.SASL(password))
	defer alice.Close()
	admin := kadm.NewClient(alice)
	token := must(admin.CreateDelegationToken(limit(), kadm.CreateDelegationToken{MaxLifetime: -1 * time.Millisecond}))
	for known := false; !known; {
		for _, each := range must(admin.DescribeDelegationTokens(limit())) {
			known = known || each.TokenID == token.TokenID
		}
	}
	secret := base64.StdEncoding.EncodeToString(token.HMAC)
	signIn := kgo.SASL(mechanism(scram.Auth{User: token.TokenID, Pass: secret, IsToken: true}))

	topic := unique("topic")
	must(admin.CreateTopic(limit(), 1, 1, nil, topic))
	c.fill(topic, 3, signIn)
	client := c.client(signIn, kgo.ConsumeTopics(topic))
	defer client.Close()
	same(3, len(read(client, 3)))
	_, err := kadm.NewClient(client).CreateDelegationToken(limit(), kadm.CreateDelegationToken{})
	same(true, errors.Is(err, kerr.DelegationTokenRequestNotAllowed))
	must(admin.ExpireDelegationToken(limit(), token.HMAC, -1*time.Millisecond))
}

func (c cases) TokenByScramSha256() { c.byToken(scram.Auth.AsSha256Mechanism) }
func (c cases) TokenByScramSha512() { c.byToken(scram.Auth.AsSha512Mechanism) }
