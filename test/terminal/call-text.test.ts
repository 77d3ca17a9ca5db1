import { expect, test } from "vitest";
import { initialAnswerState } from "../../src/cli/conversation/fronts/answering.js";
import { renderEditedCall, toEditableCall } from "../../src/cli/conversation/fronts/edit-in-editor.js";
import type { OpenQuestion } from "../../src/cli/conversation/view/questions.js";
import { emptyDraft, listEarlierMessages } from "../../src/cli/screen/draft.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import type { Json } from "../../src/index.js";
import { verifies } from "../verifies.js";

function question(input: Json, why: OpenQuestion["why"] = "policy"): OpenQuestion {
  return { callKey: "c", name: "t", input, why, askedAt: 0 } as OpenQuestion;
}

test(
  "a text for a file is opened as itself, with a name that means nothing to a shell",
  verifies("CHAT-2#keys"),
  () => {
    const write = toEditableCall(
      initialAnswerState,
      question({ path: 'src/$(touch x)`y`"z.ts', content: "one\ntwo\n" }),
    );
    expect(write).toMatchObject({ name: "__touch_x__y__z.ts", text: "one\ntwo\n" });
    expect(write?.read("one\n")).toEqual({
      type: "edited",
      input: { path: 'src/$(touch x)`y`"z.ts', content: "one\n" },
    });
    const edit = toEditableCall(initialAnswerState, question({ path: "a.md", oldText: "a", newText: "b" }));
    expect(edit).toMatchObject({ name: "a.md", text: "b" });
    expect(edit?.read("c")).toEqual({ type: "edited", input: { path: "a.md", oldText: "a", newText: "c" } });
    expect(edit?.read("b")).toMatchObject({ type: "problem" });
  },
);

test("any other input is opened as JSON", verifies("CHAT-2#keys"), () => {
  const call = toEditableCall(initialAnswerState, question({ command: "npm test" }));
  expect(call).toMatchObject({ name: "call.json" });
  expect(call?.read('{ "command": "npm run lint" }')).toEqual({ type: "edited", input: { command: "npm run lint" } });
  expect(call?.read("npm run lint")).toMatchObject({ type: "problem" });
  expect(toEditableCall({ mode: "choose", edited: { command: "ls" } }, question({ command: "x" }))?.text).toContain(
    '"ls"',
  );
});

test("only a call whose input a person may change is opened", verifies("CHAT-2#keys"), () => {
  for (const why of ["provider", "recovery", "tool", "external"] as const)
    expect(toEditableCall(initialAnswerState, question({ command: "x" }, why))).toBeNull();
  expect(toEditableCall({ mode: "because" }, question({ command: "x" }))).toBeNull();
});

test("a call that was changed is shown whole, with what differs", verifies("CHAT-2#keys"), () => {
  const lines = renderEditedCall(question({ path: "a", content: "x\ny" }), { path: "a", content: "x\n\x1b[2Jz" }, null);
  const text = lines.map(toPlainText).join("\n");
  expect(text).toMatch(/path: a[\s\S]*what you changed in it:\n +x\n +- y\n +\+ .*z/);
  expect(text).not.toContain("\x1b");
});

test("earlier messages are listed the newest first, one row each", verifies("CHAT-1#keys"), () => {
  expect(listEarlierMessages({ ...emptyDraft, history: ["one", "two\nrows"] }).map(({ id }) => id)).toEqual([
    "two\nrows",
    "one",
  ]);
  expect(listEarlierMessages({ ...emptyDraft, history: ["two\nrows"] })[0]?.text).not.toContain("\n");
});
