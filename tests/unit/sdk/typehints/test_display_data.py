"""Display data: what transforms, functions and options tell about themselves."""

from datetime import UTC, datetime, timedelta

import hamcrest
import pytest

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.sdk.testing.assertions.hamcrest_matchers import DisplayDataItemMatcher
from headrace.transforms.display import DisplayData, DisplayDataItem, HasDisplayData


class Grinding(hr.DoFn):
    def process(self, element):
        yield element

    def display_data(self):
        return {
            "stones": 2,
            "site": DisplayDataItem("mill.org", url="http://mill.org", label="The mill"),
            "missing": DisplayDataItem(None).drop_if_none(),
            "usual": DisplayDataItem(3).drop_if_default(3),
            "unusual": DisplayDataItem(4).drop_if_default(3),
        }


class Milling(hr.PTransform):
    def display_data(self):
        return {"fn": Grinding, "grinding": Grinding()}


NAMESPACE = f"{__name__}.Grinding"


def test_items_of_a_function() -> None:
    items = DisplayData.create_from(Grinding(), {"more": "x"}).items
    expected = [
        DisplayDataItemMatcher("stones", 2, NAMESPACE),
        DisplayDataItemMatcher("site", "mill.org", label="The mill"),
        DisplayDataItemMatcher("unusual", 4),
        DisplayDataItemMatcher(key="more"),
    ]
    hamcrest.assert_that(items, hamcrest.contains_inanyorder(*expected))


def test_items_of_a_transform_and_of_its_function() -> None:
    first, *others = DisplayData.create_from(Milling()).items
    assert (first.key, first.shortValue) == ("fn", "Grinding")
    assert first.get_dict()["value"] == NAMESPACE
    assert {item.namespace for item in others} == {NAMESPACE}


def test_the_functions_of_transforms() -> None:
    assert [item.value for item in DisplayData.create_from(hr.Map(len)).items] == ["len"]
    items = DisplayData.create_from(hr.ParDo(Grinding())).items
    assert [item.value for item in items] == [Grinding, 2, "mill.org", 4]
    assert items[0].namespace == "headrace.sdk.pardo.transforms.ParDo"


def test_nothing_is_shown_by_default() -> None:
    for thing in (hr.Impulse(), hr.combiners.MeanCombineFn(), hr.Pipeline()):
        assert DisplayData.create_from(thing).items == []
    assert DisplayData.create_from(hr.Pipeline(display_data={"mill": "old"})).items[0].key == "mill"


def test_items_of_options() -> None:
    options = PipelineOptions(["--num_workers=5", "--extra_package=a", "--unheard=1"])
    items = {item.key: item for item in DisplayData.create_from_options(options).items}
    assert {key: item.value for key, item in items.items()} == {
        "num_workers": 5,
        "extra_packages": "['a']",
        "unheard": "1",
    }
    assert items["extra_packages"].type == "STRING"


@pytest.mark.parametrize(
    ("value", "kind", "plain"),
    [
        ("a", "STRING", "a"),
        (1.5, "FLOAT", 1.5),
        (True, "BOOLEAN", True),
        (timedelta(seconds=2), "DURATION", 2000),
        (datetime(1970, 1, 1, 0, 0, 1), "TIMESTAMP", 1000),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "TIMESTAMP", 1000),
        (int, "STRING", "builtins.int"),
    ],
)
def test_types_of_values(value, kind, plain) -> None:
    item = DisplayDataItem(value, key="k", namespace="n").get_dict()
    assert (item["type"], item["value"]) == (kind, plain)


def test_an_item_that_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match=r"\[3\] has no type"):
        DisplayDataItem([3], key="k", namespace="n").get_dict()
    with pytest.raises(ValueError, match="has no key"):
        DisplayDataItem(3, namespace="n").get_dict()
    with pytest.raises(ValueError, match="7 has no display data"):
        DisplayData.create_from(7)
    with pytest.raises(ValueError, match="has no options"):
        DisplayData.create_from_options(Grinding())


def test_equal_items_and_their_text() -> None:
    one, other = (DisplayDataItem(3, key="k", namespace="n") for _ in range(2))
    assert len({one, other}) == 1
    assert one != DisplayDataItem(4, key="k", namespace="n")
    assert repr(one) == (
        'DisplayDataItem({"key": "k", "namespace": "n", "type": "INTEGER", "value": 3})'
    )


def test_a_matcher_that_does_not_match() -> None:
    assert not DisplayDataItemMatcher("k", 4).matches(DisplayDataItem(3, key="k"))
    assert not DisplayDataItemMatcher("k").matches(HasDisplayData())
    with pytest.raises(ValueError, match="matches every item"):
        DisplayDataItemMatcher()
    with pytest.raises(AssertionError, match=r"a DisplayDataItem, key 'k', value <4>"):
        hamcrest.assert_that(DisplayDataItem(3, key="k"), DisplayDataItemMatcher("k", 4))
