/**
 * Where the command line writes a note for the person while the model's text streams.
 */
import { expect, test } from "vitest";
import { createTextRunView } from "../../src/cli/run/run-view.js";
import type { Terminal } from "../../src/cli/terminal/terminal.js";
import { plainText } from "../../src/cli/terminal/text-style.js";
import { createAgent } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

test("a note is held while a line of the model's text is open, and lost in no run", verifies("CLI-2"), async () => {
  let screen = "";
  const write = (text: string) => {
    screen += text;
  };
  const terminal = {
    ...{ out: write, err: write, hint: write, status() {}, columns: () => 80, style: plainText },
    ...{ isOutLive: true, isLive: true },
  } as unknown as Terminal;
  const view = createTextRunView(terminal, { canAsk: true, isStored: false, wantsData: false });
  view.note("before the run");
  const agent = createAgent({ model: createScriptedModel([{ text: "One two three." }]) });
  for await (const item of agent.runStream("go")) {
    view.show(item);
    if (item.type === "delta" && item.delta.kind === "text-delta") view.note("during the text");
  }
  view.note("after the run");
  view.pause();
  expect(screen).toMatch(
    /^before the run\nOne two three\.\n(?:during the text\n)+done · 1 step · .*\nafter the run\n$/,
  );
  view.show({
    type: "delta",
    delta: { kind: "text-delta", id: "t", text: "Cut", runId: "r", modelCallIndex: 1, attempt: 1, seq: 1 },
  });
  view.note("at the end");
  view.pause();
  expect(screen).toMatch(/at the end\n$/);
});
