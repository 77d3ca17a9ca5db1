/**
 * A reader that joins while the model has several parts open: what redaction withholds of each of them still arrives.
 */
import { expect, test } from "vitest";
import { createStreamRedaction, type MessageDelta, type MessageSnapshot, type StreamItem } from "../../src/index.js";
import { createSessionView } from "../../src/view/session-view.js";

const attempt = { runId: "r", modelCallIndex: 1, attempt: 1 } as const;

const snapshot: MessageSnapshot = {
  type: "snapshot",
  ...attempt,
  deltaSeq: 6,
  message: { role: "assistant", parts: [{ type: "text", text: "I look where it is" }] },
  open: [{ id: "t", type: "text", index: 0 }],
  inputs: [{ id: "c", name: "read_file", text: '{"path":"src' }],
};

const text = (seq: number, added: string): MessageDelta => ({
  ...attempt,
  seq,
  kind: "text-delta",
  id: "t",
  text: added,
});
const input = (seq: number, added: string): MessageDelta => ({
  ...attempt,
  seq,
  kind: "tool-input-delta",
  id: "c",
  text: added,
});
const end = (seq: number): MessageDelta => ({ ...attempt, seq, kind: "text-end", id: "t" });

/** The text and the arguments that a view of the redacted stream has shown, and whether it has missed a delta. */
function show(deltas: readonly MessageDelta[]) {
  const redact = createStreamRedaction((value) => value.replaceAll("sk-secret", "[removed]"));
  const view = createSessionView();
  const items: readonly StreamItem[] = [snapshot, ...deltas.map((delta) => ({ type: "delta", delta }) as const)];
  const changes = items.flatMap((item) => redact(item)).flatMap((item) => view.apply(item));
  return {
    text: changes.flatMap((change) => (change.type === "part_grew" ? [change.text] : [])).join(""),
    input: changes
      .flatMap((change) => (change.type === "call_changed" && change.by.type === "input_grew" ? [change.by.text] : []))
      .join(""),
    hasGap: changes.some(({ type }) => type === "gap"),
  };
}

test.each<[string, readonly MessageDelta[]]>([
  ["the arguments go on, and the text ends", [input(7, '/a.mjs"}'), end(8)]],
  ["the text goes on, and then the arguments", [text(7, "."), input(8, '/a.mjs"}'), end(9)]],
  ["both end", [end(7), { ...attempt, seq: 8, kind: "tool-input-end", id: "c" }]],
])("%s", (_, deltas) => {
  const added = (kind: string) =>
    deltas.map((delta) => ("text" in delta && delta.kind === kind ? delta.text : "")).join("");
  expect(show(deltas)).toEqual({
    text: `I look where it is${added("text-delta")}`,
    input: `{"path":"src${added("tool-input-delta")}`,
    hasGap: false,
  });
});

test("a secret whose beginning is in the snapshot is removed, although another part comes between", () => {
  const { text: shown } = show([input(7, '/a.mjs"}'), text(8, "-sk-secret, or"), input(9, " "), end(10)]);
  expect(shown).toBe("I look where it is-[removed], or");
});
