/**
 * `pawl` without a command: on a terminal, a conversation; elsewhere, help.
 */
import type { Command } from "commander";
import type { ConversationOptions } from "../conversation/conversation-deps.js";
import { rejectUnknownCommand } from "../program/command-mistakes.js";
import type { Terminal } from "../terminal/terminal.js";

export async function conversation(
  words: readonly string[],
  options: ConversationOptions,
  version: string,
  program: Command,
  terminal: Terminal,
): Promise<number> {
  rejectSingleWord(words, program);
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    const isBare =
      words.length === 0 && !Object.keys(options).some((name) => program.getOptionValueSource(name) === "cli");
    if (isBare) program.outputHelp({ error: true });
    program.error('error: a conversation needs a terminal. Without one, give the task to "pawl run", or add -p', {
      code: "pawl.noTerminal",
    });
  }
  // Imported lazily: it loads libraries that no other command needs.
  const { converse } = await import("../conversation/converse.js");
  return converse(words.join(" "), options, version, terminal);
}

/** A message has more than one word. One word alone is a command that was mistyped. */
function rejectSingleWord(words: readonly string[], program: Command): void {
  const [word = ""] = words;
  if (words.length === 1 && !/\s/.test(word)) rejectUnknownCommand(word, program);
}
