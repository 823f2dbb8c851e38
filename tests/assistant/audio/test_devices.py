from __future__ import annotations

import pytest

from assistant.audio.devices import DeviceInfo, find_device, input_formats, output_formats
from assistant.errors import DeviceError


def device(name: str, inputs: int = 1, outputs: int = 0, index: int = 0, **how: bool) -> DeviceInfo:
    return DeviceInfo(name, inputs, outputs, 48_000, any(how.values()), index, **how)


ROOM = [
    device("bcm2835 Headphones: - (hw:0,0)", 0, 8, 0),
    device("Jabra SPEAK 410 USB: Audio (hw:1,0)", 1, 2, 1),
    device("ReSpeaker 4 Mic Array: USB Audio (hw:2,0)", 6, 2, 2),
    device("USB PnP Sound Device: Audio (hw:3,0)", 1, 2, 3),
    device("default", 32, 32, 4, default_input=True),
]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ("", 4),
        ("  ", 4),
        ("jabra", 1),
        ("RESPEAKER", 2),
        ("USB PnP Sound Device: Audio (hw:3,0)", 3),
        ("USB PnP Sound Device: Audio (hw:7,0)", 3),
        ("hw:2,0", 2),
        ("default", 4),
    ],
)
def test_found_by_part_of_the_name(wanted: str, index: int) -> None:
    assert find_device(ROOM, wanted, "input").index == index


def test_a_whole_name_beats_a_part() -> None:
    devices = [device("USB Microphone Pro", index=0), device("USB Microphone", index=1)]
    assert find_device(devices, "usb microphone", "input").index == 1


def test_the_same_name_twice_is_the_first() -> None:
    devices = [device("Mic", index=3), device("Mic", index=8)]
    assert find_device(devices, "mic", "input").index == 3


def test_only_devices_of_the_direction_count() -> None:
    assert find_device(ROOM, "headphones", "output").index == 0
    with pytest.raises(DeviceError):
        find_device(ROOM, "headphones", "input")


def test_without_a_default_it_is_the_first() -> None:
    assert find_device(ROOM[:4], "", "input").index == 1
    assert find_device(ROOM, "", "output").index == 0


def test_several_are_named() -> None:
    with pytest.raises(DeviceError, match=r'fits several microphones: "Jabra.*", "ReSp.*"') as e:
        find_device(ROOM, "usb", "input")
    assert e.value.code == "audio.ambiguous_device"
    assert e.value.exit_code == 3


def test_an_unknown_name_lists_what_is_there_and_guesses() -> None:
    with pytest.raises(DeviceError) as e:
        find_device(ROOM, "respaeker", "input")
    assert e.value.code == "audio.unknown_device"
    assert 'no microphone "respaeker"; there is "Jabra SPEAK' in e.value.message
    assert "Headphones" not in e.value.message
    assert e.value.hint == 'Did you mean "ReSpeaker"?'
    with pytest.raises(DeviceError) as e:
        find_device(ROOM, "zzz", "output")
    assert e.value.hint == ""


@pytest.mark.parametrize("wanted", ["", "jabra"])
def test_no_device_at_all(wanted: str) -> None:
    for direction, what in (("input", "microphone"), ("output", "speaker")):
        with pytest.raises(DeviceError, match=f"No {what} was found") as e:
            find_device([], wanted, direction)  # type: ignore[arg-type]
        assert e.value.exit_code == 3


def test_formats_of_a_microphone() -> None:
    array = input_formats(ROOM[2])
    assert array[0] == (16_000, 6)
    assert (48_000, 6) in array
    assert (48_000, 1) in array
    assert input_formats(ROOM[4])[0] == (16_000, 1), "a sound server mixes by itself"
    assert input_formats(ROOM[2], channel=5)[:2] == [(16_000, 5), (16_000, 6)]
    assert {rate for rate, _ in input_formats(ROOM[2], rate=44_100)} == {44_100}
    with pytest.raises(DeviceError, match="1 channel, so there is no channel 2"):
        input_formats(ROOM[1], channel=2)


def test_formats_of_a_speaker() -> None:
    assert output_formats(ROOM[0])[:3] == [(48_000, 2), (48_000, 1), (48_000, 8)]
    assert output_formats(device("mono", 0, 1))[0] == (48_000, 1)
    assert {rate for rate, _ in output_formats(ROOM[0], rate=22_050)} == {22_050}
