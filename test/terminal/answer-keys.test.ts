/**
 * The keys that answer a question of a tool, and their rows on the screen.
 */
import { describe, expect, test } from "vitest";
import {
  initialAnswerState,
  listAnswerKeys,
  pressAnswer,
  submitAnswer,
} from "../../src/cli/conversation/fronts/answering.js";
import { renderRegion } from "../../src/cli/conversation/fronts/live-region.js";
import type { OpenQuestion } from "../../src/cli/conversation/view/questions.js";
import { createView, type View } from "../../src/cli/conversation/view/view.js";
import { findReplyChoice, formatReplyChoices, listReplyChoices } from "../../src/cli/decisions/reply-choices.js";
import { emptyDraft } from "../../src/cli/screen/draft.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { createAgent, defineTool, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { askPerson } from "../../src/tools/index.js";
import { verifies } from "../verifies.js";

const keys = verifies("CHAT-2#keys");

/** A view in which the model has asked. */
async function viewWith(question: string, options: readonly string[] | undefined, columns = 80): Promise<View> {
  const input = { question, ...(options === undefined ? {} : { options }) };
  const model = createScriptedModel([{ calls: [{ name: "ask_person", input }] }]);
  const view = createView();
  for await (const item of createAgent({ model, tools: [askPerson()] }).runStream("Go"))
    view.show(item as StreamItem, columns, 1_000);
  return view;
}

async function questionWith(options: readonly string[] | undefined): Promise<OpenQuestion> {
  const [question] = (await viewWith("Which one?", options)).questions.all();
  if (question === undefined) throw new Error("Nothing is asked.");
  return question;
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `option ${at + 1}`);
const namesOf = (question: OpenQuestion) =>
  listAnswerKeys(question, initialAnswerState)
    .map(({ key }) => key)
    .join("");

describe("a question of the model", () => {
  test("has a key for each of its answers, up to nine", keys, async () => {
    const two = await questionWith(["red", "blue"]);
    expect(namesOf(two)).toBe("12rn?");
    expect(pressAnswer("2", initialAnswerState, two)).toEqual({
      type: "decision",
      decision: { type: "reply", value: "blue" },
    });
    expect(pressAnswer("3", initialAnswerState, two)).toBeNull();
    expect(pressAnswer("0", initialAnswerState, two)).toBeNull();
    expect(pressAnswer("y", initialAnswerState, two)).toBeNull();
    expect(namesOf(await questionWith(numbered(9)))).toBe("123456789rn?");
    expect(namesOf(await questionWith(numbered(12)))).toBe("123456789trn?");
  });

  test("with more than nine answers takes the number of any of them", keys, async () => {
    const twelve = await questionWith(numbered(12));
    for (const typed of ["11", "option 11", " option 11 "])
      expect(submitAnswer(typed, { mode: "reply" }, twelve)).toEqual({
        type: "decision",
        decision: { type: "reply", value: "option 11" },
      });
  });

  test("whose answers are numbers has no keys for them: they are typed", keys, async () => {
    const question = await questionWith(["3", "5", "10"]);
    expect(namesOf(question)).toBe("trn?");
    expect(pressAnswer("1", initialAnswerState, question)).toBeNull();
    expect(submitAnswer("5", { mode: "reply" }, question)).toEqual({
      type: "decision",
      decision: { type: "reply", value: "5" },
    });
    expect(submitAnswer("1", { mode: "reply" }, question)).toMatchObject({ decision: { value: "1" } });
    expect(namesOf(await questionWith(["1", "2"]))).toBe("12rn?");
  });

  test("is declined with n, and with r for a reason", keys, async () => {
    const two = await questionWith(["red", "blue"]);
    expect(pressAnswer("n", initialAnswerState, two)).toEqual({ type: "decision", decision: { type: "decline" } });
    expect(pressAnswer("r", initialAnswerState, two)).toMatchObject({ type: "go", to: { mode: "because" } });
    expect(submitAnswer(" green ", { mode: "because" }, two)).toEqual({
      type: "decision",
      decision: { type: "decline", note: "green" },
    });
  });

  test("without answers to choose from is answered in the person's own words", keys, async () => {
    const open = await questionWith(undefined);
    expect(namesOf(open)).toBe("tn?");
    expect(submitAnswer("7", { mode: "reply" }, open)).toEqual({
      type: "decision",
      decision: { type: "reply", value: "7" },
    });
  });
});

describe("a call that wants to run", () => {
  const question: OpenQuestion = {
    ...{ runId: "r", callKey: "r/1/1", name: "edit_file", why: "policy", askedAt: 0 },
    input: { path: "notes.txt", replaceAll: true },
  };

  test("offers no rule once it was edited, because an edited call is allowed once", keys, () => {
    const edited = { mode: "choose", edited: { path: "notes.txt", replaceAll: false } } as const;
    expect(namesOf(question)).toBe("ynrea?");
    expect(
      listAnswerKeys(question, edited)
        .map(({ key }) => key)
        .join(""),
    ).toBe("ynre?");
    expect(pressAnswer("a", edited, question)).toBeNull();
  });

  test("says what a field that is not text takes", keys, () => {
    const at = { mode: "edit", at: 1, input: { path: "notes.txt", replaceAll: true } } as const;
    expect(submitAnswer("banana", at, question)).toEqual({
      type: "problem",
      message: "replaceAll must be JSON, such as true.",
    });
  });
});

test("an answer whose words are a number is found by its words before any number", keys, () => {
  const choices = listReplyChoices({ type: "string", enum: ["3", "2", "1"] });
  expect(findReplyChoice("3", choices)?.value).toBe("3");
  expect(findReplyChoice("4", choices)).toBeUndefined();
  const amounts = listReplyChoices({ enum: [3, 5, 10] });
  expect(findReplyChoice("5", amounts)?.value).toBe(5);
  expect(findReplyChoice("1", amounts)).toBeUndefined();
  expect(formatReplyChoices({ enum: [3, 5] })).toEqual(["    - 3", "    - 5"]);
  expect(formatReplyChoices({ enum: [1, 2] })).toEqual(["    1 1", "    2 2"]);
  expect(listReplyChoices({ enum: [{ a: 1 }] })).toEqual([]);
  expect(listReplyChoices({ type: "string" })).toEqual([]);
  expect(listReplyChoices({ enum: [1, true] }).map(({ label }) => label)).toEqual(["1", "true"]);
});

test("a question of another tool is shown with the whole input of its call", keys, async () => {
  const deploy = defineTool({
    name: "deploy",
    description: "Deploys.",
    input: { type: "object" },
    durable: true,
    execute: async (_, { ask }) => (await ask({ message: "Change the product page?" })).type,
  });
  const model = createScriptedModel([{ calls: [{ name: "deploy", input: { target: "prod" } }] }]);
  const view = createView();
  for await (const item of createAgent({ model, tools: [deploy] }).runStream("Go"))
    view.show(item as StreamItem, 80, 1_000);
  expect(view.takeHistory().map(toPlainText).join("\n")).toContain("target: prod");
});

test("an answer with a line break or control characters takes one line in a list", keys, () => {
  expect(formatReplyChoices({ type: "string", enum: ["red\n    2 blue", "\u001b[2Jgreen"] })).toEqual([
    "    1 red     2 blue",
    "    2 \\x1b[2Jgreen",
  ]);
});

function region(view: View, columns: number, rows: number): readonly string[] {
  const content = {
    ...{ view, draft: emptyDraft, hints: [], answering: initialAnswerState, picker: null, waitText: undefined },
    isOnQuestion: false,
    isLeaving: false,
  };
  return renderRegion(content, columns, rows, 1_000).rows.map((line) => toPlainText(line).trimEnd());
}

describe("the screen of a question of the model", () => {
  test("shows the question once, with its numbered answers, and the keys below", keys, async () => {
    const view = await viewWith("Which colour?", ["red", "blue"]);
    const history = view.takeHistory().map((line) => toPlainText(line).trimEnd());
    expect(history.slice(-4)).toEqual(["? ask_person asks:", "    Which colour?", "    1 red", "    2 blue"]);
    const rows = region(view, 80, 40);
    expect(rows.slice(0, 4)).toEqual([
      "? ask_person Which colour? (shown above)",
      "  1 red",
      "  2 blue",
      "  r none of these, because…   n no answer   ? why it asks",
    ]);
  });

  test("cuts long answers to the width, and names only the numbers if the screen is low", keys, async () => {
    const view = await viewWith("Which one?", ["a".repeat(200), "b"], 40);
    const history = view.takeHistory().map((line) => toPlainText(line));
    expect(history.join("").match(/a/g)?.length).toBeGreaterThanOrEqual(200);
    for (const row of region(view, 40, 40)) expect(row.length).toBeLessThan(40);
    expect(region(await viewWith("Which one?", numbered(9)), 40, 14)).toContain("  1–9 for the answers above");
  });

  test("names no numbers on a very low screen if there is nothing to choose", keys, async () => {
    const rows = region(await viewWith("Which one?", undefined), 80, 6);
    expect(rows.join("\n")).toContain("t type an answer");
    expect(rows.join("\n")).not.toContain("for the answers above");
  });
});
