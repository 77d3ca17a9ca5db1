/** What somebody meets on the first day in the terminal. */
import { expect, test } from "vitest";
import { findCommand } from "../../src/cli/conversation/commands/command-table.js";
import { renderWelcome } from "../../src/cli/conversation/welcome.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { createMemoryStore } from "../../src/index.js";
import { verifies } from "../verifies.js";

test("the first lines do not promise to keep a session that is lost", verifies("CHAT-1#view"), async () => {
  const welcome = async (loss: string | null) => {
    const deps = {
      store: createMemoryStore(),
      root: "/shop",
      version: "1",
      options: { model: "demo" },
      loss,
      front: { columns: () => 80 },
      terminal: { redaction: { text: (text: string) => text } },
    };
    const lines = await renderWelcome(
      deps as unknown as Parameters<typeof renderWelcome>[0],
      { model: { id: "demo" } } as unknown as Parameters<typeof renderWelcome>[1],
      null,
      true,
    );
    return lines.map(toPlainText).join(" ");
  };
  expect(await welcome(null)).toContain("Nothing is lost if pawl is killed.");
  const lost = await welcome("This session is lost when the command ends.");
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
