"""kfake, the fake cluster of franz-go's own tests: a program that serves it, built in a folder of the run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

GO = shutil.which("go")
#: kfake requires a version of franz-go that lacks functions it calls; the next release has them.
_MODULE = """module kfake

go 1.26.0

require (
	github.com/twmb/franz-go v1.22.2
	github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c
)
"""
_PROGRAM = """package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

// One broker, until standard input ends.
func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin)
	cluster.Close()
}
"""


class GoMissing(RuntimeError):
    """Go is not installed, or could not build the program."""


def build(folder: Path) -> Path:
    """Return the program, built from modules of the module proxy. Raises GoMissing with advice."""
    if GO is None:
        raise GoMissing("Go is not installed (on Debian: apt-get install golang)")
    folder.mkdir()
    (folder / "go.mod").write_text(_MODULE)
    (folder / "main.go").write_text(_PROGRAM)
    words = [GO, "build", "-mod=mod", "-buildvcs=false", "-o", "kfake", "."]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "GOFLAGS": ""}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GoMissing(f"go build failed: {done.stderr.strip().splitlines()[-1]}")
    return folder / "kfake"
