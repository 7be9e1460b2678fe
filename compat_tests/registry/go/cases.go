package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/sr"
)

// What franz-go's client of schema registries does with the broker's.
type cases struct {
	bootstrap string // the URL of the registry
}

// Ids are of contents, so each case has its own.
func named(name string) (string, string) {
	before := fmt.Sprintf(`{"type":"record","name":"%s","fields":[{"name":"name","type":"string"}]}`, name)
	return before, before[:len(before)-2] + `,{"name":"age","type":"int"}]}`
}

func (c cases) client() *sr.Client {
	return must(sr.NewClient(sr.URLs(c.bootstrap)))
}

func equal[T comparable](found, wanted T) {
	if found != wanted {
		panic(fmt.Sprintf("%v in place of %v", found, wanted))
	}
}

func code(err error) int {
	var told *sr.ResponseError
	if !errors.As(err, &told) {
		panic(fmt.Sprintf("no answer of a registry: %v", err))
	}
	return told.ErrorCode
}

func (c cases) Subjects() {
	user, older := named("Subjects")
	ctx, client := context.Background(), c.client()
	first := must(client.CreateSchema(ctx, "go-user", sr.Schema{Schema: user}))
	equal(first.Version, 1)
	equal(must(client.CreateSchema(ctx, "go-user", sr.Schema{Schema: user})).ID, first.ID)
	equal(must(client.LookupSchema(ctx, "go-user", sr.Schema{Schema: user})).Version, 1)
	equal(must(client.SchemaByID(ctx, first.ID)).Schema, user)
	equal(must(client.SchemaTextByID(ctx, first.ID)), user)
	equal(must(client.SubjectsByID(ctx, first.ID))[0], "go-user")
	equal(must(client.SchemaVersionsByID(ctx, first.ID))[0].Version, 1)
	equal(must(client.SchemaByVersion(ctx, "go-user", -1)).ID, first.ID)
	equal(len(must(client.Schemas(ctx, "go-user"))), 1)
	equal(len(must(client.SupportedTypes(ctx))), 3)
	_, err := client.CreateSchema(ctx, "go-user", sr.Schema{Schema: older})
	equal(code(err), sr.ErrIncompatibleSchema.Code)
	equal(must(client.DeleteSubject(ctx, "go-user", sr.SoftDelete))[0], 1)
	equal(must(client.DeleteSubject(ctx, "go-user", sr.HardDelete))[0], 1)
	_, err = client.SubjectVersions(ctx, "go-user")
	equal(code(err), sr.ErrSubjectNotFound.Code)
}

func (c cases) Compatibility() {
	user, older := named("Compatibility")
	ctx, client := context.Background(), c.client()
	must(client.CreateSchema(ctx, "go-compatible", sr.Schema{Schema: user}))
	found := must(client.CheckCompatibility(sr.WithParams(ctx, sr.Verbose), "go-compatible", -1, sr.Schema{Schema: older}))
	equal(found.Is, false)
	if len(found.Messages) == 0 {
		panic("no messages")
	}
	for _, each := range client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatForward}, "go-compatible") {
		equal(must(each.Level, each.Err), sr.CompatForward)
	}
	for _, each := range client.Compatibility(ctx, "go-compatible") {
		equal(must(each.Level, each.Err), sr.CompatForward)
	}
	equal(must(client.CheckCompatibility(ctx, "go-compatible", -1, sr.Schema{Schema: older})).Is, true)
	for _, each := range client.ResetCompatibility(ctx, "go-compatible") {
		equal(must(each.Level, each.Err), sr.CompatForward)
	}
}

func (c cases) Modes() {
	user, _ := named("Modes")
	ctx, client := context.Background(), c.client()
	for _, each := range client.SetMode(ctx, sr.ModeImport, "go-import") {
		equal(must(each.Mode, each.Err), sr.ModeImport)
	}
	equal(must(client.CreateSchemaWithIDAndVersion(ctx, "go-import", sr.Schema{Schema: user}, 900, 7)).Version, 7)
	for _, each := range client.Mode(ctx, "go-import") {
		equal(must(each.Mode, each.Err), sr.ModeImport)
	}
	for _, each := range client.ResetMode(ctx, "go-import") {
		equal(must(each.Mode, each.Err), sr.ModeImport)
	}
}

func (c cases) References() {
	ctx, client := context.Background(), c.client()
	proto := sr.Schema{Schema: "syntax = \"proto3\";\nmessage P { int32 a = 1; }", Type: sr.TypeProtobuf}
	must(client.CreateSchema(ctx, "go-p", proto))
	using := sr.Schema{
		Schema:     "syntax = \"proto3\";\nimport \"p.proto\";\nmessage Q { P p = 1; }",
		Type:       sr.TypeProtobuf,
		References: []sr.SchemaReference{{Name: "p.proto", Subject: "go-p", Version: 1}},
	}
	made := must(client.CreateSchema(ctx, "go-q", using))
	equal(len(made.References), 1)
	equal(must(client.SchemaReferences(ctx, "go-p", 1))[0].ID, made.ID)
	equal(must(client.SchemaUsagesByID(ctx, made.ID))[0].Subject, "go-q")
}
