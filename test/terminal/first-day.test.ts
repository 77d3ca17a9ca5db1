/** What somebody meets on the first day in the terminal. */
import { expect, test } from "vitest";
import { findCommand } from "../../src/cli/conversation/commands/command-table.js";
import { renderWelcome } from "../../src/cli/conversation/welcome.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { createMemoryStore } from "../../src/index.js";
import { verifies } from "../verifies.js";

type WelcomeArguments = Parameters<typeof renderWelcome>;

async function welcome(options: {
  readonly loss: string | null;
  readonly model?: string;
  readonly summary?: { readonly sessionId: string };
}): Promise<string> {
  const deps = {
    store: createMemoryStore(),
    root: "/shop",
    version: "1",
    options: options.model === undefined ? {} : { model: options.model },
    loss: options.loss,
    front: { columns: () => 80 },
    terminal: { redaction: { text: (text: string) => text } },
  };
  const chosen = { model: { id: "demo" }, why: "Using the demo model, not an LLM, because it was named." };
  const lines = await renderWelcome(
    deps as unknown as WelcomeArguments[0],
    chosen as unknown as WelcomeArguments[1],
    (options.summary ?? null) as WelcomeArguments[2],
    true,
  );
  return lines.map(toPlainText).join(" ");
}

test("a session with the demo model says how to switch to another one, as a key that was set since does not", async () => {
  const lines = await welcome({ loss: null, summary: { sessionId: "f74a572a-e021-4e4c-b678-1a992967ca17" } });
  expect(lines).toContain(
    "Using the demo model, not an LLM, as before. To switch this session to another model: /model",
  );
  expect(lines).not.toContain("it was named");
});

test("the first lines do not promise to keep a session that is lost", verifies("CHAT-1#view"), async () => {
  expect(await welcome({ loss: null })).toContain("Nothing is lost if pawl is killed.");
  const lost = await welcome({ loss: "This session is lost when the command ends." });
  expect(lost).toContain("Esc stops.");
  expect(lost).not.toContain("Nothing is lost");
});

test("the names that other programs have for a command lead to it", verifies("CHAT-3#look"), () => {
  for (const [name, command] of [
    ["usage", "cost"],
    ["clear", "new"],
    ["rewind", "fork"],
    ["exit", "quit"],
  ] as const)
    expect(findCommand(`/${name}`, [])).toEqual({
      type: "unknown",
      message: `There is no command /${name}. Did you mean /${command}? Nothing was sent.`,
    });
  const own = { name: "usage", file: "usage.md", text: "Say it.", source: "person" };
  expect(findCommand("/usage", [own] as unknown as Parameters<typeof findCommand>[1])).toMatchObject({
    type: "command",
  });
});
