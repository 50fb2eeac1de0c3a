"""Settings of the editor, for each folder.

Precedence, from high to low: a setting of the editor that is set (not null); the project's `pyproject.toml` or
`terra-refactor.toml`; the default. Settings that only concern the editor (hints, lenses) exist in the editor alone. A
value of the wrong type is ignored and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from terra_refactor.config import Config, load_config
from terra_refactor.errors import UsageError
from terra_refactor.ide.annotations import AnnotationStyle

SECTION = "terra-refactor"
_OPTIONS = {
    "select": "select",
    "ignore": "ignore",
    "exclude": "exclude",
    "severity": "severity",
    "minOps": "min_ops",
    "tfVersion": "tf_version",
}
"""Settings that correspond to a key of the configuration."""
_LOG_LEVELS = ("error", "warning", "info", "debug")
_MODES = ("openFilesOnly", "workspace")


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """Editor settings of one folder."""

    enable: bool = True
    hints: tuple[str, ...] = ("parameters", "bindings", "layers")
    """Kinds of inlay hints that are shown."""
    unknown_sizes: bool = False
    """Also show hints with at most the number of axes."""
    code_lens: bool = True
    every_lens: bool = False
    """Also show a lens for functions without a proposed change."""
    outline: bool = False
    """The server answers requests for document symbols."""
    call_hierarchy: bool = True
    """Call hierarchies of effects are offered; the value at the start of the server applies."""
    semantic_tokens: bool = False
    """Tokens of code that runs as a graph are offered; as above."""
    whole_workspace: bool = False
    """Also show findings of files that are not open; the value at the start of the server applies."""
    log_level: str = "warning"
    """Level of detail of the server's log: `error`, `warning`, `info` or `debug`; the setting of the whole editor applies."""
    annotation_style: AnnotationStyle = AnnotationStyle.AUTO
    """The notation of inferred types in a signature."""
    configuration: str | None = None
    """A configuration file to use instead of the one that is found."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the configuration that the editor overrides."""
    problems: tuple[str, ...] = ()
    """Errors in the settings, as sentences."""

    def config(self, folder: str) -> Config:
        """The configuration of a folder.

        Raises:
            UsageError: the file that is found or named, or a setting, is invalid.
        """
        return load_config(self.configuration, folder).with_options(**self.options)


def parse_settings(data: Any) -> EditorSettings:
    """The settings in the data from the editor: the object below `terra-refactor`."""
    if not isinstance(data, Mapping):
        return EditorSettings()
    problems: list[str] = []

    def flag(container: Any, name: str, default: bool, where: str) -> bool:
        value = container.get(name) if isinstance(container, Mapping) else None
        if value is None or isinstance(value, bool):
            return default if value is None else value
        problems.append(f"`{SECTION}.{where}` takes true or false, not {value!r}")
        return default

    hints = data.get("inlayHints")
    kinds = tuple(
        kind
        for kind, default in (("parameters", True), ("bindings", True), ("attributes", False), ("layers", True))
        if flag(hints, kind, default, f"inlayHints.{kind}")
    )
    options: dict[str, Any] = {}
    for name, key in _OPTIONS.items():
        value = data.get(name)
        if value is None or value in ([], {}, ""):
            continue
        try:
            Config().with_options(**{key: value})
        except UsageError as error:
            problems.append(f"`{SECTION}.{name}`: {error}")
        else:
            options[key] = value
    mode = data.get("diagnosticMode")
    if mode is not None and mode not in _MODES:
        problems.append(f"`{SECTION}.diagnosticMode` takes {' or '.join(_MODES)}, not {mode!r}")
    log_level = data.get("logLevel", "warning")
    if log_level not in _LOG_LEVELS:
        problems.append(f"`{SECTION}.logLevel` takes {', '.join(_LOG_LEVELS)}, not {log_level!r}")
        log_level = "warning"
    style = data.get("annotationStyle", "auto")
    if style not in [each.value for each in AnnotationStyle]:
        styles = ", ".join(each.value for each in AnnotationStyle)
        problems.append(f"`{SECTION}.annotationStyle` takes {styles}, not {style!r}")
        style = "auto"
    configuration = data.get("configuration")
    return EditorSettings(
        enable=flag(data, "enable", True, "enable"),
        hints=kinds if flag(hints, "enable", True, "inlayHints.enable") else (),
        unknown_sizes=flag(hints, "unknownSizes", False, "inlayHints.unknownSizes"),
        code_lens=flag(data.get("codeLens"), "enable", True, "codeLens.enable"),
        every_lens=flag(data.get("codeLens"), "everyFunction", False, "codeLens.everyFunction"),
        outline=flag(data.get("outline"), "enable", False, "outline.enable"),
        call_hierarchy=flag(data.get("callHierarchy"), "enable", True, "callHierarchy.enable"),
        semantic_tokens=flag(data.get("semanticTokens"), "enable", False, "semanticTokens.enable"),
        whole_workspace=mode == _MODES[1],
        log_level=log_level,
        annotation_style=AnnotationStyle(style),
        configuration=configuration if isinstance(configuration, str) and configuration else None,
        options=options,
        problems=tuple(problems),
    )
