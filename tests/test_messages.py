"""Lines that are said once."""

from fluxlite.messages import notice, notices, reset_notices, warn


def test_once_per_key_on_standard_output(capsys):
    reset_notices()
    notice("a", "first")
    notice("a", "not said")
    warn(("b", 1), "second")
    assert notices() == ["[ Info: first", "┌ Warning: second"]
    captured = capsys.readouterr()
    assert captured.out == "[ Info: first\n┌ Warning: second\n" and captured.err == ""
    reset_notices()
    assert notices() == []
    notice("a", "again")
    assert capsys.readouterr().out == "[ Info: again\n"
    reset_notices()
