import { describe, expect, test } from "vitest";
import { opensConversation, quickOptions } from "../../src/cli/opens-conversation.js";
import { createProgram } from "../../src/cli/program.js";
import { openTerminal } from "../../src/cli/terminal.js";
import { verifies } from "../verifies.js";

const live = { input: { isTTY: true }, output: { isTTY: true, columns: 80, rows: 24 } };
const env = { TERM: "xterm" };

describe("the prompt is shown before the program is loaded", verifies("CHAT-1#first-frame"), () => {
  test.each([
    [[]],
    [["--continue"]],
    [["why does it fail?"]],
    [["--model", "demo", "-y", "why does it fail?"]],
    [["--session=3f8c", "--debug"]],
  ])("with %j", (args) => expect(opensConversation(args, live, env)).toBe(true));

  test.each([
    [["run"]],
    [["runn"]],
    [["--help"]],
    [["--version"]],
    [["--screen-reader"]],
    [["--model"]],
    [["--model", "demo", "sessions"]],
    [["--continue=yes"]],
    [["--constructor"]],
  ])("not with %j, which may be something else", (args) => expect(opensConversation(args, live, env)).toBe(false));

  test("not where there is no live screen", () => {
    expect(opensConversation([], { ...live, input: { isTTY: false } }, env)).toBe(false);
    expect(opensConversation([], { ...live, output: { isTTY: false, columns: 80, rows: 24 } }, env)).toBe(false);
    expect(opensConversation([], { ...live, output: { isTTY: true, columns: 19, rows: 24 } }, env)).toBe(false);
    expect(opensConversation([], live, { TERM: "dumb" })).toBe(false);
  });

  test("and every option that it knows is one of the conversation, with the same value", () => {
    const program = createProgram(openTerminal({}), () => {});
    for (const [name, takesValue] of Object.entries(quickOptions)) {
      const option = program.options.find(({ short, long }) => name === short || name === long);
      expect(option, name).toBeDefined();
      expect(option?.required === true, name).toBe(takesValue);
    }
  });
});
