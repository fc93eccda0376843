"""A room acted out, with labs as programs of their own: nothing that was guessed is lost, whatever others send."""

import pytest
from acted_room import act

MOST_MEGABYTES = 100


@pytest.mark.slow
@pytest.mark.parametrize("labs", [pytest.param(3, id="three labs"), pytest.param(30, id="thirty labs")])
def test_what_was_guessed_is_on_the_wall_and_the_rest_is_turned_away_and_listed(tmp_path, labs):
    shown, answers, megabytes = act(tmp_path, labs)
    turned_away = {(one["who"], one["why"]) for one in shown["remarks"]}
    assert ("Flood", "it sends too often") in turned_away
    assert ("learner 0 (2)", "another guest had this name first") in turned_away
    reasons = {why for whose, why in turned_away if whose == "someone at 127.0.0.1"}
    assert {
        "it isn't JSON, or nested too deep",
        "it has more than 16,000 bytes",
        "it isn't what a lab sends",
    } <= reasons
    assert ("rubbish", 200) not in answers and answers["rubbish", 400] > 0 and answers["flood", 429] > 0
    assert megabytes < MOST_MEGABYTES
