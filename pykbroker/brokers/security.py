"""What decides about access at a broker: its authorizer and the secrets of delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.delegation_tokens import TokenSecrets


class BrokerSecurity:
    """See the module; follows the metadata."""

    def __init__(self, config: BrokerConfig, metadata: MetadataSource, runtime: Runtime) -> None:
        self._config = config
        self._metadata = metadata
        self._runtime = runtime
        #: None permits everything.
        self.authorizer: Authorizer | None = _authorizer(config, metadata, runtime)
        self._token_secrets: TokenSecrets | None = None

    @property
    def token_secrets(self) -> TokenSecrets | None:
        """The secrets of delegation tokens, created on first use; None if delegation tokens are disabled."""
        if self._token_secrets is None:
            from pykbroker.security.delegation_tokens import TokenSecrets, secret_of

            secret = secret_of(self._config)
            if secret is not None:
                image = self._metadata.image
                self._token_secrets = TokenSecrets(secret, image.delegation_tokens, self._runtime.random)
                self._metadata.subscribe(self._token_secrets.follow)
        return self._token_secrets


def _authorizer(config: BrokerConfig, metadata: MetadataSource, runtime: Runtime) -> Authorizer | None:
    """The configured authorizer, which follows the metadata; None without ``authorizer.class.name``."""
    if not config["authorizer.class.name"]:
        return None
    from pykbroker.config.authorizer import AuthorizerSettings
    from pykbroker.security.authorizer import Authorizer

    settings = AuthorizerSettings.of(config)
    authorizer = Authorizer(settings.super_users, otherwise=settings.allow_everyone, now=runtime.clock.monotonic)
    authorizer.load(metadata.image)
    metadata.subscribe(authorizer.follow)
    return authorizer
