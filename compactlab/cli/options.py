"""Options that several commands share, each with its help said once."""

from __future__ import annotations

from typing import Annotated

import typer

# A test holds these words against what there is.
SUMMARISERS = "extractive, fallback, sized (a stub of the allowed size) or fail"
TOKENIZERS = ("auto (calibrated on recorded usage, else o200k_base), rough (characters // 4) or an "
              "encoding of tiktoken")

Summariser = Annotated[str, typer.Option(
    metavar="NAME", help=f"What writes the summaries: {SUMMARISERS}.")]
Tokenizer = Annotated[str, typer.Option(metavar="NAME", help=f"What counts: {TOKENIZERS}.")]
Window = Annotated[str, typer.Option(
    metavar="TOKENS", help="The context window that sizes follow from; K = 1,000.")]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="NAME=VALUE", help="A setting of the strategy; repeatable.")]
Cache = Annotated[list[str] | None, typer.Option(
    "--cache", metavar="NAME=VALUE",
    help="The simulated prompt cache: layout (automatic, system_and_3, system_and_3_fixed, "
         "tools_system_2, single, client, none), ttl (5m, 1h), model (whose prices and rules), "
         "provider (whose rules, where the model does not say), "
         "summariser_calls (separate, shares_prefix), summariser_model, prices (a YAML file of "
         "your own); repeatable.")]
SessionId = Annotated[str, typer.Option(
    metavar="ID", help="Which session of a file with several: its id, or 1, 2, …")]
Sessions = Annotated[list[str] | None, typer.Option(
    metavar="PATH", help="A file, folder or glob of recorded sessions; repeatable.")]
Replace = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Json = Annotated[bool, typer.Option("--json", help="JSON for scripts.")]
