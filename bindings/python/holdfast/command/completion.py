"""The command `completion`: the scripts with which shells complete the command's words."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, files, and the repositories and fields of the store that was typed.

    \b
    Examples:
        eval "$(holdfast completion bash)"                              # in ~/.bashrc
        eval "$(holdfast completion zsh)"                               # in ~/.zshrc
        holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    program = ctx.find_root()
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(program.command, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
