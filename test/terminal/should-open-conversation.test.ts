import { describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program/create-program.js";
import { quickOptions, shouldOpenConversation } from "../../src/cli/terminal/should-open-conversation.js";
import { openTerminal } from "../../src/cli/terminal/terminal.js";
import { verifies } from "../verifies.js";

const live = { input: { isTTY: true }, output: { isTTY: true, columns: 80, rows: 24 } };
const env = { TERM: "xterm" };
const look = { screenReader: false };

describe("the prompt is shown before the program is loaded", verifies("CHAT-1#first-frame"), () => {
  test.each([
    [[]],
    [["--continue"]],
    [["why does it fail?"]],
    [["--model", "demo", "-y", "why does it fail?"]],
    [["--session=3f8c", "--debug"]],
  ])("with %j", (args) => expect(shouldOpenConversation(args, live, env, look)).toBe(true));

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
  ])("not with %j, which may be something else", (args) =>
    expect(shouldOpenConversation(args, live, env, look)).toBe(false),
  );

  test("not where there is no live screen", () => {
    expect(shouldOpenConversation([], { ...live, input: { isTTY: false } }, env, look)).toBe(false);
    expect(shouldOpenConversation([], { ...live, output: { isTTY: false, columns: 80, rows: 24 } }, env, look)).toBe(
      false,
    );
    expect(shouldOpenConversation([], { ...live, output: { isTTY: true, columns: 19, rows: 24 } }, env, look)).toBe(
      false,
    );
    expect(shouldOpenConversation([], live, { TERM: "dumb" }, look)).toBe(false);
  });

  test("and not where the person's own file wants another screen, or cannot be used", () => {
    expect(shouldOpenConversation([], live, env, null)).toBe(false);
    expect(shouldOpenConversation([], live, env, { screenReader: true })).toBe(false);
    expect(shouldOpenConversation(["--no-screen-reader"], live, env, { screenReader: true })).toBe(true);
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
