"""``kafka-features``: describe, upgrade, downgrade and disable features."""

from __future__ import annotations

import argparse
from typing import Final

from pykbroker import __version__
from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.container.tools import release_versions
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.wire.errors import KafkaError, error_code
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_TIMEOUT_MS: Final = 60_000
#: Words for an action on a feature: done, and in a dry run.
_DONE: Final = {"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    if options.command == "version-mapping":
        _print_mapping(options.release_version)
        return
    if options.command == "feature-dependencies":
        for name, level in _levels(options.feature).items():
            _print_needs(name, level)
        return
    with connect(options) as client:
        if options.command == "describe":
            _describe(client)
        else:
            _update(client, options, _wanted(options))


def _options() -> Options:
    made = Options("kafka-features", "Say which levels of features a cluster has, and give it others.")
    made.connecting(also=())
    commands = made.commands()
    commands.add_parser("describe", description="Say which levels there are, and could be.")
    for name in ("upgrade", "downgrade"):
        each = commands.add_parser(name, description=f"{name.capitalize()} features.")
        each.add_argument("--feature", metavar="NAME=LEVEL", action="append", default=[])
        each.add_argument("--metadata", metavar="RELEASE", help="metadata.version as that release has it; deprecated")
        each.add_argument("--release-version", metavar="RELEASE", help="all features as that release has them")
    disable = commands.add_parser("disable", description="Set features to level 0.")
    disable.add_argument("--feature", metavar="NAME", action="append", default=[])
    for name in ("upgrade", "downgrade", "disable"):
        commands.choices[name].flags("dry-run", *(() if name == "upgrade" else ("unsafe",)))
    mapping = commands.add_parser("version-mapping", description="Say which levels a release has.")
    mapping.add_argument("--release-version", metavar="RELEASE", default=release_versions.LATEST)
    needs = commands.add_parser("feature-dependencies", description="Say which levels need others.")
    needs.add_argument("--feature", metavar="NAME=LEVEL", action="append", required=True)
    return made


def _describe(client: Client) -> None:
    request = ApiVersionsRequest(client_software_name="pykbroker-cli", client_software_version=__version__)
    answer = client.any().call(request, ApiVersionsResponse)
    raise_for(answer.error_code)
    levels = {item.name: item.max_version_level for item in answer.finalized_features}
    epoch = "-" if answer.finalized_features_epoch < 0 else answer.finalized_features_epoch
    for item in sorted(answer.supported_features, key=lambda item: item.name):
        print_lines(
            f"Feature: {item.name:<41} SupportedMinVersion: {_formatted(item.name, item.min_version):<16} "
            f"SupportedMaxVersion: {_formatted(item.name, item.max_version):<16} "
            f"FinalizedVersionLevel: {_formatted(item.name, levels.get(item.name, 0)):<16} Epoch: {epoch}"
        )


def _formatted(feature: str, level: int) -> str:
    if feature != METADATA_VERSION:
        return str(level)
    return release_versions.level_name(level) or f"UNKNOWN [{level}]"


def _levels(words: list[str]) -> dict[str, int]:
    """Parse ``name=level``. Raises ToolError."""
    found: dict[str, int] = {}
    for word in words:
        name, equals, level = (part.strip() for part in word.partition("="))
        if not equals:
            raise ToolError(f"Can't parse feature=level string {word}: equals sign not found.")
        if not level.isdecimal():
            raise ToolError(f"Can't parse feature=level string {word}: unable to parse {level} as a short.")
        if name in found:
            raise ToolError(f"Feature {name} was specified more than once.")
        found[name] = int(level)
    return found


def _wanted(options: argparse.Namespace) -> dict[str, int]:
    """Return the levels to set. Raises ToolError."""
    if options.command == "disable":
        wanted = dict.fromkeys(options.feature, 0)
    elif options.release_version is not None:
        if options.feature or options.metadata is not None:
            raise ToolError("Can not specify `release-version` with other feature flags.")
        level = release_versions.metadata_level(options.release_version)
        others = release_versions.levels_of(level)
        raised = options.command == "upgrade"
        wanted = {METADATA_VERSION: level} | {name: n for name, n in others.items() if n or not raised}
    else:
        wanted = _levels(options.feature)
        if options.metadata is not None:
            print_lines(" `metadata` flag is deprecated and may be removed in a future release.")
            wanted |= {METADATA_VERSION: release_versions.metadata_level(options.metadata)}
    if not wanted:
        raise ToolError(f"You must specify at least one feature to {options.command}")
    return wanted


def _update(client: Client, options: argparse.Namespace, wanted: dict[str, int]) -> None:
    verb = options.command
    if verb == "upgrade" and (gone := [name for name, level in wanted.items() if level < 1]):
        raise ToolError(f"Level 0 of {', '.join(gone)} is no upgrade: `kafka-features disable --feature NAME` sets it.")
    kind = _UPGRADE if verb == "upgrade" else _UNSAFE_DOWNGRADE if options.unsafe else _SAFE_DOWNGRADE
    updates = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level in wanted.items()
    ]
    request = UpdateFeaturesRequest(
        timeout_ms=_TIMEOUT_MS, feature_updates=updates, validate_only=bool(options.dry_run)
    )
    answer = client.controller().call(request, UpdateFeaturesResponse)
    results = {each.feature: each for each in answer.results}
    failed = 0
    for name, level in sorted(wanted.items()):
        result = results.get(name, answer)
        to = "" if verb == "disable" else f" to {level}"
        if result.error_code:
            failed += 1
            said = KafkaError(error_code(result.error_code), result.error_message or None).message
            print_lines(f"{'Can' if options.dry_run else 'Could'} not {verb} {name}{to}. {said}")
        else:
            print_lines(f"{name} {'can be' if options.dry_run else 'was'} {_DONE[verb]}{to}.")
    if failed:
        raise ToolError(f"{failed} out of {len(wanted)} operation(s) failed.")


def _print_mapping(release: str) -> None:
    level = release_versions.metadata_level(release)
    print_lines(f"{METADATA_VERSION}={level} ({release})")
    for feature, its_level in release_versions.levels_of(level).items():
        print_lines(f"{feature}={its_level}")


def _print_needs(feature: str, level: int) -> None:
    if feature == METADATA_VERSION:
        if (name := release_versions.level_name(level)) is None:
            raise ToolError(f"Unknown metadata.version {level}")
        print_lines(f"{feature}={level} ({name}) has no dependencies.")
        return
    needs = release_versions.needs_of(feature, level)
    print_lines(f"{feature}={level} {'requires:' if needs else 'has no dependencies.'}")
    for name, needed in needs.items():
        print_lines(f"    {name}={needed} ({release_versions.level_name(needed)})")
