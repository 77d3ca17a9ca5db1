import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lineOf } from "../../src/cli/screen/line.js";
import { createScreen, frameIntervalMs, resizeDelayMs } from "../../src/cli/screen/screen.js";
import { plainText } from "../../src/cli/terminal/text-style.js";
import { pickSampleCount } from "../support/sample-count.js";
import { verifies } from "../verifies.js";
import { createRecordedOutput, playBack } from "./terminal-model.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Plays what was drawn to a real emulator. */
function seen(recorded: ReturnType<typeof createRecordedOutput>) {
  vi.useRealTimers();
  return playBack(recorded.operations);
}

const rows = (...texts: readonly string[]) => ({ rows: texts.map((text) => lineOf(text)), cursor: null });

describe("the screen", () => {
  test("writes a line once, and the region below it", verifies("CHAT-1#screen"), async () => {
    const recorded = createRecordedOutput(20, 6);
    const screen = createScreen(recorded.output, plainText);
    screen.show({ rows: [lineOf("> draft"), lineOf("ready")], cursor: { row: 0, before: lineOf("> dra") } });
    vi.advanceTimersByTime(frameIntervalMs);
    screen.commit([lineOf("first"), lineOf("a line that is longer than the terminal is wide")]);
    vi.advanceTimersByTime(frameIntervalMs);
    const { lines, cursor } = await seen(recorded);
    expect(lines).toEqual(["first", "a line that is longer than the terminal is wide", "> draft", "ready"]);
    expect(cursor).toEqual({ row: 4, column: 5 });
  });

  test("changes only rows that differ, in one write of the region", () => {
    const recorded = createRecordedOutput(80, 24);
    const screen = createScreen(recorded.output, plainText);
    screen.show(rows("one", "two", "three"));
    vi.advanceTimersByTime(frameIntervalMs);
    const before = recorded.operations.length;
    screen.show(rows("one", "TWO", "three"));
    vi.advanceTimersByTime(frameIntervalMs);
    const written = recorded.operations.slice(before);
    expect(written).toHaveLength(1);
    expect(JSON.stringify(written)).toContain("TWO");
    expect(JSON.stringify(written)).not.toMatch(/one|three/);
    screen.show(rows("one", "TWO", "three"));
    vi.advanceTimersByTime(10 * frameIntervalMs);
    expect(recorded.operations).toHaveLength(before + 1);
  });

  test("draws at most 30 frames a second, and none while the terminal is behind", () => {
    const recorded = createRecordedOutput(80, 24);
    const screen = createScreen(recorded.output, plainText);
    for (let at = 0; at < 1_000; at++) {
      screen.show(rows(`state ${at}`));
      vi.advanceTimersByTime(1);
    }
    expect(recorded.operations.length).toBeLessThanOrEqual(32);
    recorded.setBusy(true);
    screen.show(rows("last before"));
    vi.advanceTimersByTime(frameIntervalMs);
    const behind = recorded.operations.length;
    for (let at = 0; at < 500; at++) {
      screen.show(rows(`unseen ${at}`));
      vi.advanceTimersByTime(1);
    }
    expect(recorded.operations).toHaveLength(behind);
    recorded.setBusy(false);
    vi.advanceTimersByTime(frameIntervalMs);
    expect(recorded.operations).toHaveLength(behind + 1);
    expect(recorded.text()).toContain("unseen 499");
  });

  test("draws the answer to a key at once, and keys that come together as one", async () => {
    const recorded = createRecordedOutput(80, 24);
    const screen = createScreen(recorded.output, plainText);
    screen.show(rows("> "));
    vi.advanceTimersByTime(frameIntervalMs);
    const before = recorded.operations.length;
    for (const draft of ["> a", "> ab", "> abc"]) {
      screen.show(rows(draft));
      screen.answerKey();
    }
    await Promise.resolve();
    expect(recorded.operations).toHaveLength(before + 1);
    expect(recorded.text()).toContain("> abc");
    vi.advanceTimersByTime(10 * frameIntervalMs);
    expect(recorded.operations).toHaveLength(before + 1);
  });

  test("draws held keys at most 60 times a second beside the other frames, and none while the terminal is behind", async () => {
    const recorded = createRecordedOutput(80, 24);
    const screen = createScreen(recorded.output, plainText);
    for (let at = 0; at < 1_000; at++) {
      screen.show(rows(`held ${at}`));
      screen.answerKey();
      await Promise.resolve();
      vi.advanceTimersByTime(1);
    }
    expect(recorded.operations.length).toBeLessThanOrEqual(95);
    recorded.setBusy(true);
    vi.advanceTimersByTime(frameIntervalMs);
    screen.show(rows("last before"));
    vi.advanceTimersByTime(frameIntervalMs);
    const behind = recorded.operations.length;
    screen.show(rows("unseen"));
    screen.answerKey();
    await Promise.resolve();
    expect(recorded.operations).toHaveLength(behind);
  });

  test("asks what a function shows once a frame, and draws the lines that it adds", async () => {
    const recorded = createRecordedOutput(40, 10);
    const screen = createScreen(recorded.output, plainText);
    let asked = 0;
    const region = () => {
      asked += 1;
      screen.commit([lineOf(`line ${asked}`)]);
      return rows("> ");
    };
    for (let at = 0; at < 100; at++) screen.show(region);
    vi.advanceTimersByTime(10 * frameIntervalMs);
    expect(asked).toBe(1);
    expect((await seen(recorded)).lines).toEqual(["line 1", "> "]);
  });

  test("text cannot control the terminal, wherever it is", verifies("SEC-18#terminal"), () => {
    const recorded = createRecordedOutput(40, 10);
    const screen = createScreen(recorded.output, plainText);
    const hostile = "\x1b]0;title\x07\x1b[2J\x9b3J\r\n\x00x";
    screen.commit([lineOf(hostile)]);
    screen.show({ rows: [lineOf(hostile)], cursor: { row: 0, before: lineOf(hostile) } });
    vi.advanceTimersByTime(frameIntervalMs);
    const own = recorded.text().replace(/\x1b\[(?:\?(?:2026|25|7)[hl]|\d*[ABK]|2K|J)|\x1b[78]|\r\n|\r/g, "");
    expect(own).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });

  test("close leaves the history, and nothing else", async () => {
    const recorded = createRecordedOutput(40, 10);
    const screen = createScreen(recorded.output, plainText);
    screen.show(rows("> ", "ready"));
    vi.advanceTimersByTime(frameIntervalMs);
    screen.commit([lineOf("kept")]);
    screen.close();
    screen.show(rows("late"));
    vi.advanceTimersByTime(1_000);
    expect((await seen(recorded)).lines).toEqual(["kept"]);
  });
});

/** A small generator of numbers: the same for a seed on every machine. */
function randomOf(seed: number) {
  let state = seed * 2_654_435_761 + 1;
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state % below;
  };
}

const texts = ["a", "short", "漢字 wide ".repeat(4), "x".repeat(130), "👩‍👧 é", "plain words ".repeat(9), ""];

describe("random histories, regions and sizes", () => {
  test.each(Array.from({ length: pickSampleCount({ quick: 6, long: 200 }) }, (_, at) => at + 1))(
    "seed %i: no line is lost, doubled or out of order, and nothing is stale",
    async (seed) => {
      const random = randomOf(seed);
      const recorded = createRecordedOutput(80, 24);
      const screen = createScreen(recorded.output, plainText);
      const committed: string[] = [];
      let region: readonly string[] = [];
      for (let step = 0; step < 25; step++) {
        const commits = Array.from({ length: random(4) }, (_, at) =>
          `${seed}.${step}.${at} ${texts[random(texts.length)]}`.trimEnd(),
        );
        committed.push(...commits);
        screen.commit(commits.map((text) => lineOf(text)));
        region = Array.from({ length: 1 + random(7) }, (_, at) =>
          `region ${step}.${at} ${"·".repeat(random(12))}`.trimEnd(),
        );
        const row = random(region.length);
        screen.show({
          rows: region.map((text) => lineOf(text)),
          cursor: { row, before: lineOf((region[row] ?? "").slice(0, random(9))) },
        });
        vi.advanceTimersByTime(random(2) * frameIntervalMs + random(20));
        if (random(5) > 0 || step < 12) continue;
        recorded.resize(30 + random(120), 20 + random(20));
        screen.resize();
        vi.advanceTimersByTime(random(2) * resizeDelayMs);
      }
      vi.advanceTimersByTime(1_000);
      const { lines } = await seen(recorded);
      // Where a wide character does not fit at the end of a row, the emulator has a space.
      // Rows below the region may stay blank.
      const packed = (all: readonly string[]) =>
        all
          .map((line) => line.replaceAll(" ", ""))
          .join("\n")
          .trimEnd();
      expect(packed(lines)).toBe(packed([...committed, ...region]));
      expect(recorded.text()).not.toMatch(/\x1b\[[23]J/);
    },
  );
});
