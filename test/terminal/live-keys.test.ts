/**
 * What keys lead to on the live screen, and what no key leads to by accident.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createLiveState,
  hideQuestion,
  type LiveCommand,
  type LiveState,
  pressKey,
  type Surroundings,
  showQuestion,
  viewQuestion,
} from "../../src/cli/conversation/fronts/live-keys.js";
import type { OpenQuestion } from "../../src/cli/conversation/view/questions.js";
import { emptyDraft } from "../../src/cli/screen/draft.js";
import type { Key } from "../../src/cli/screen/keys.js";
import { verifies } from "../verifies.js";

const question: OpenQuestion = {
  callKey: "r/1/1",
  runId: "r",
  name: "pay",
  input: { cents: 5 },
  inputHash: "h",
  why: "policy",
  askedAt: 0,
  risk: {},
} as never;

const around = (now: number, options: Partial<Surroundings> = {}): Surroundings => ({
  now,
  columns: 80,
  hasTalk: true,
  isAtWork: true,
  isWaiting: true,
  queuedCount: 0,
  canSkipWait: false,
  canSuspend: true,
  complete: () => null,
  ...options,
});

const named = (name: string, ctrl = false): Key => ({ type: "key", name, ctrl, alt: false, shift: false });
const typed = (text: string): Key => ({ type: "text", text });

/** A frame with the question is on the screen. */
const view = (state: LiveState, now: number) => (state.shown === null ? state : viewQuestion(state, state.shown, now));

/** Presses keys at times in milliseconds. The question is shown at 0. */
function press(keys: readonly (readonly [number, Key])[], options: Partial<Surroundings> = {}) {
  let state: LiveState = view(showQuestion(createLiveState(emptyDraft), question), 0);
  const commands: LiveCommand[] = [];
  for (const [now, key] of keys) {
    const pressed = pressKey(state, key, around(now, options));
    state = pressed.state;
    commands.push(...pressed.commands);
  }
  return { state, commands };
}

const isAnswer = ({ type }: LiveCommand) => type === "answer";

test("a letter answers once the question has been shown for a moment", verifies("CHAT-2#keys"), () => {
  expect(press([[399, typed("y")]]).commands).toEqual([]);
  expect(press([[400, typed("y")]]).commands).toMatchObject([{ type: "answer", decision: { type: "approve" } }]);
});

test(
  "a letter does not answer a question that is not in view, nor just after it has come back",
  verifies("CHAT-2#keys"),
  () => {
    const asked = showQuestion(createLiveState(emptyDraft), question);
    const answers = (state: LiveState, now: number) =>
      pressKey(state, typed("y"), around(now)).commands.filter(isAnswer);
    expect(answers(asked, 10_000)).toEqual([]);
    const seen = view(asked, 10_000);
    expect(answers(seen, 10_399)).toEqual([]);
    expect(answers(seen, 10_400)).toHaveLength(1);
    const hidden = hideQuestion(seen);
    expect(answers(hidden, 20_000)).toEqual([]);
    expect(answers(view(hidden, 20_000), 20_399)).toEqual([]);
    // A frame that was drawn before the question was hidden.
    expect(seen.shown).not.toBeNull();
    if (seen.shown !== null) expect(answers(viewQuestion(hidden, seen.shown, 12_000), 20_000)).toEqual([]);
  },
);

test("Enter, a paste and an early key answer nothing, whatever was pressed before", verifies("CHAT-2#keys"), () => {
  const key = fc.constantFrom(
    ...["y", "n", "a", "?", "x", "é"].map(typed),
    ...["tab", "up", "left"].map((name) => named(name)),
  );
  const before = fc.array(key, { maxLength: 12 });
  const accident = fc.constantFrom<Key>(named("enter"), { type: "paste", text: "y", isCut: false }, typed("y"));
  fc.assert(
    fc.property(before, accident, (keys, last) => {
      // All of them come before the question has been shown for a moment.
      const { commands } = press([...keys, last].map((one) => [100, one] as const));
      expect(commands.filter(isAnswer)).toEqual([]);
    }),
  );
  fc.assert(
    fc.property(fc.constantFrom<Key>(named("enter"), { type: "paste", text: "y", isCut: false }), (last) => {
      expect(press([[1_000, last]]).commands.filter(isAnswer)).toEqual([]);
    }),
  );
});

test("a draft keeps letters from the question, until Tab moves to it", verifies("CHAT-2#keys"), () => {
  const draft = [
    [100, typed("go")],
    [1_000, typed("y")],
  ] as const;
  expect(press(draft)).toMatchObject({ commands: [], state: { draft: { text: "goy" } } });
  const moved = press([...draft, [1_100, named("tab")], [1_200, typed("n")]]);
  expect(moved.commands).toMatchObject([{ type: "answer", decision: { type: "deny" } }]);
  expect(moved.state).toMatchObject({ draft: { text: "" }, isOnQuestion: false });
});

test.each(["tab", "escape"])(
  "%s for something else, pressed as a question appears, does not move to it",
  verifies("CHAT-2#keys"),
  (name) => {
    const early = press([
      [50, typed("Read @no")],
      [100, named(name)],
      [1_000, typed("y")],
    ]);
    expect(early.commands.filter(isAnswer)).toEqual([]);
    expect(early.state).toMatchObject({ draft: { text: "Read @noy" }, isOnQuestion: false });
  },
);

test("Esc denies and stops only when it is pressed twice, and Ctrl-C twice leaves", () => {
  expect(press([[1_000, named("escape")]]).commands).toMatchObject([{ type: "say" }]);
  const twice = press([
    [1_000, named("escape")],
    [1_500, named("escape")],
  ]);
  expect(twice.commands.map(({ type }) => type)).toEqual(["say", "stop"]);
  const left = press([
    [1_000, named("c", true)],
    [1_500, named("c", true)],
  ]);
  expect(left.commands).toMatchObject([{ type: "stop" }, { type: "quit", how: "leave" }]);
});

test("Ctrl-Z suspends where the system can, but not a run that is at work", () => {
  const press = (options: Partial<Surroundings>) =>
    pressKey(createLiveState(emptyDraft), named("z", true), around(0, options)).commands.map(({ type }) => type);
  expect(press({ isAtWork: false })).toEqual(["suspend"]);
  expect(press({ isAtWork: true })).toEqual(["say"]);
  expect(press({ isAtWork: false, canSuspend: false })).toEqual([]);
});

test("a run that is at work is not left without a question", () => {
  const asked = press([[1_000, named("d", true)]], { isWaiting: false });
  expect(asked).toMatchObject({ commands: [], state: { isLeaving: true } });
  const around2 = around(1_100, { isWaiting: false });
  expect(pressKey(asked.state, typed("x"), around2)).toMatchObject({ commands: [], state: { isLeaving: true } });
  expect(pressKey(asked.state, typed("l"), around2).commands).toEqual([{ type: "quit", how: "leave" }]);
});
