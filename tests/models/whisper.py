"""whisper.cpp understands speech with all of its work on the device."""
import pathlib
import re
import tempfile

from programs import check, model, once, run

SPOKEN = "Please open the window, because the room is warm and the garden smells of fresh flowers."
WORDS_A_MINUTE = 140


@once
def transcribed(device):
    with tempfile.TemporaryDirectory() as folder:
        sound = pathlib.Path(folder, "spoken.wav")
        run("espeak-ng", "-v", "en-us", "-s", WORDS_A_MINUTE, "-w", sound, SPOKEN)
        return device.run("whisper-cli", "--model", model("whisper"), "--file", sound, "--language", "en",
                          "--no-timestamps", "--beam-size", 1, "--best-of", 1, "--threads", 1)


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def check_words(device):
    heard = words(transcribed(device).text)
    check(heard == words(SPOKEN), f"heard: {' '.join(heard)}")


def check_used(device):
    check(f"using {device.name} backend" in transcribed(device).log, f"whisper.cpp does not use {device.name}")


def check_weights(device):
    """whisper.cpp's log tells no node's place, but a weight lies on the CPU if the device cannot compute with it."""
    places = re.findall(r"whisper_model_load: +(\S+) total size", transcribed(device).log)
    check(places == [device.name], f"weights lie on {', '.join(places) or 'nothing'}")


TESTS = [
    ("every spoken word is in the transcript", check_words),
    ("whisper.cpp uses the device",            check_used),
    ("every weight lies on the device",        check_weights),
]
