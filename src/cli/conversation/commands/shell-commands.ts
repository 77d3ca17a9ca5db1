/**
 * Commands that the person runs with `!`. They run in the folder with the person's own environment, without asking. The output is
 * shown, and attached to the next message.
 */
import { getErrorMessage } from "../../../core/data/error-message.js";
import type { ToolContext } from "../../../index.js";
import { createShellTool } from "../../../tools/index.js";
import { formatNumber } from "../../../view/format-number.js";
import { createDataPart } from "../../agent/attachments.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import type { Redaction } from "../../terminal/redaction.js";
import { toOneLine, truncate } from "../../terminal/text.js";
import { outputIndent, renderOutput } from "../lines/call-lines.js";
import type { SessionControl } from "../session-control.js";

/** The timeout of a command; milliseconds. Esc stops it earlier. */
const timeoutMs = 10 * 60_000;
/** The maximum length of the attached output, half from the beginning and half from the end; characters. */
const maxAttached = 20_000;
const keptLines = { first: 20, last: 80 } as const;

export type OwnCommands = {
  readonly run: (command: string) => Promise<void>;
  /** @returns whether a command was running */
  readonly stop: () => boolean;
};

/** @param columns the width of the conversation */
export function createOwnCommands(
  control: SessionControl,
  root: string,
  redaction: Redaction,
  columns: () => number,
): OwnCommands {
  let running: AbortController | null = null;

  async function run(command: string): Promise<void> {
    if (command === "") return control.say([lineOf("! takes a command, for example !git status", "dim")]);
    if (running !== null)
      return control.say([lineOf("Your previous command is still running. Esc stops it.", "yellow")]);
    const controller = new AbortController();
    running = controller;
    const title: Line = [spanOf("! ", "cyan"), spanOf(command, "bold")];
    control.say([title]);
    control.setOwn({ name: truncate(toOneLine(command), 30), since: Date.now() });
    const output = await runInFolder(command, root, columns() - outputIndent, controller.signal);
    running = null;
    control.setOwn(null);
    control.say(renderOutput(redaction.text(output), keptLines.first, keptLines.last));
    control.join(createDataPart(`The user ran in the folder: ${command}`, abridgeOutput(output)));
  }

  return {
    run,
    stop() {
      const wasRunning = running !== null;
      running?.abort();
      return wasRunning;
    },
  };
}

/** @returns the output, followed by how the command ended; or why it was stopped, with the output until then */
async function runInFolder(command: string, root: string, columns: number, signal: AbortSignal): Promise<string> {
  const own = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  // Programs that write to a pipe read the width from COLUMNS.
  const env = { ...Object.fromEntries(own), COLUMNS: String(Math.max(columns, 20)) };
  const shell = createShellTool({ root, sandbox: "off", env, timeoutMs });
  try {
    // The shell tool reads only the signal from its context.
    const output = await awaitResult(shell.execute?.({ command }, { signal } as ToolContext));
    return output.replace(/; not sandboxed\)$/, ")");
  } catch (error) {
    return getErrorMessage(error).replace("; not sandboxed", "");
  }
}

function abridgeOutput(output: string): string {
  if (output.length <= maxAttached) return output;
  const half = maxAttached / 2;
  const left = formatNumber(output.length - maxAttached);
  return `${output.slice(0, half)}\n(… ${left} characters left out …)\n${output.slice(-half)}`;
}

/** Waits for the result of a tool that may stream its output. */
async function awaitResult(output: string | Promise<string> | AsyncIterable<string> | undefined): Promise<string> {
  if (output === undefined || typeof output === "string" || output instanceof Promise) return (await output) ?? "";
  const iterator = output[Symbol.asyncIterator]();
  for (;;) {
    const { done, value }: IteratorResult<string, string> = await iterator.next();
    if (done === true) return value;
  }
}
