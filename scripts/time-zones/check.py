"""Checks the slots that scripts/time-zones.mjs writes, line by line, against zoneinfo and a rule of its own.

The rule is Vixie cron's. A single time of day runs once: at the first of two, or right after the gap that skips it. Steps, ranges and
lists run at each matching time that exists.
"""
import json
import os
import sys
import zoneinfo
from datetime import datetime, timedelta, timezone

DAY = 86_400
STEP = 300  # all offsets and patterns are multiples of it
SHOWN = 20  # differences that are printed


def field(text, low, high):
    values = set()
    for part in text.split(","):
        span, _, every = part.partition("/")
        start, _, stop = (f"{low}-{high}" if span == "*" else span).partition("-")
        values.update(range(int(start), int(stop or start) + 1, int(every or 1)))
    return values


class Pattern:
    def __init__(self, text):
        minute, hour, day, _, weekday = text.split()
        self.text = text
        self.minutes, self.hours = field(minute, 0, 59), field(hour, 0, 23)
        self.days = None if day == "*" else field(day, 1, 31)
        self.weekdays = None if weekday == "*" else field(weekday, 0, 6)
        self.is_single = minute.isdigit() and hour.isdigit()
        self.slots = self.differing = 0

    def matches(self, local):
        return (
            local.minute in self.minutes
            and local.hour in self.hours
            and (self.days is None or local.day in self.days)
            and (self.weekdays is None or local.isoweekday() % 7 in self.weekdays)
        )


def local_time(zone, time):
    return datetime.fromtimestamp(time, zone)


def expected_slots(pattern, zone, at, times):
    """The slots after `at - DAY` and before `at + DAY`; `times` has the local time of each step of it."""
    found = [(time, local) for time, local in times if pattern.matches(local)]
    if not pattern.is_single:
        return [time for time, _ in found]
    slots, days = set(), set()
    for time, local in found:
        if local.date() not in days:
            slots.add(time)
        days.add(local.date())
    skipped = local_time(zone, at - 60).replace(tzinfo=None) + timedelta(minutes=1)
    after = local_time(zone, at).replace(tzinfo=None)
    while skipped < after:
        if pattern.matches(skipped):
            slots.add(at)
        skipped += timedelta(seconds=STEP)
    return sorted(slots)


def find_changes(zone, first, end):
    def offset(time):
        return local_time(zone, time).utcoffset()

    changes = []
    for day in range(first, end, DAY):
        before, after = day, day + DAY
        old = offset(before)
        if old == offset(after):
            continue
        while after - before > 60:
            middle = before + (after - before) // 120 * 60
            before, after = (middle, after) if offset(middle) == old else (before, middle)
        changes.append(after)
    return changes


def database_version():
    for folder in zoneinfo.TZPATH:
        try:
            with open(os.path.join(folder, "tzdata.zi")) as lines:
                return lines.readline().removeprefix("# version ").strip()
        except OSError:
            pass
    try:
        from tzdata import IANA_VERSION

        return IANA_VERSION
    except ImportError:
        return "unknown"


def print_table(patterns):
    print(f'{"pattern":<18}{"slots":>12}{"windows that differ":>22}')
    for pattern in patterns:
        print(f"{pattern.text:<18}{pattern.slots:>12,}{pattern.differing:>22,}")


def main():
    head = json.loads(sys.stdin.readline())
    patterns = [Pattern(text) for text in head["patterns"]]
    zones = windows = 0
    missing, changed, differing = [], [], []
    for line in sys.stdin:
        given = json.loads(line)
        try:
            zone = zoneinfo.ZoneInfo(given["zone"])
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            missing.append(given["zone"])
            continue
        zones += 1
        known = set(given["changes"])
        unshared = set(find_changes(zone, head["first"], head["end"])) ^ known
        changed += [f'{given["zone"]} {datetime.fromtimestamp(at, timezone.utc).isoformat()}' for at in sorted(unshared)]
        for window in given["windows"]:
            at = window["at"]
            if any(abs(change - at) <= 2 * DAY for change in unshared):
                continue
            windows += 1
            times = [(time, local_time(zone, time)) for time in range(at - DAY + STEP, at + DAY, STEP)]
            for pattern, found in zip(patterns, window["slots"]):
                pattern.slots += len(found)
                if found != expected_slots(pattern, zone, at, times):
                    pattern.differing += 1
                    differing.append(f'{given["zone"]} {pattern.text} around {at}: {found}')
    print_table(patterns)
    for title, texts in (
        ("Windows that differ", differing),
        ("Changes of clocks that only one knows", changed),
        ("Zones that Python does not know", missing),
    ):
        for text in [f"{title}:", *texts[:SHOWN]] if texts else []:
            print(text)
    slots = sum(pattern.slots for pattern in patterns)
    print(
        f'Time zones of Node {head["version"]} and of Python {database_version()}: {zones:,} zones, {windows:,} windows of two days, '
        f"{slots:,} slots of {len(patterns)} patterns: {len(differing)} windows differ. "
        f"{len(changed)} changes of clocks are known to one of them only."
    )
    sys.exit(1 if differing or windows == 0 else 0)


main()
