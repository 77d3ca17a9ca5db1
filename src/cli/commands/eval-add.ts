/**
 * `pawl eval add`: creates a case from a recorded session.
 */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { createCase, type EvalCase } from "../../evals/index.js";
import { PawlError } from "../../index.js";
import { exitCodes } from "../exit.js";
import { toFileName } from "../files/eval-reports.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize } from "../terminal/text.js";
import { writeText } from "./eval.js";

export type EvalAddOptions = {
  readonly at?: number;
  readonly name?: string;
  readonly to?: string;
  readonly tag?: readonly string[];
  readonly hide?: readonly string[];
  readonly outside?: readonly string[];
  readonly force?: true;
  readonly json?: true;
};

const defaultFolder = "evals/cases";

export async function evalAdd(id: string, options: EvalAddOptions, terminal: Terminal): Promise<number> {
  const store = await openStore(resolveHome(process.env));
  try {
    const { sessionId } = await getSession(store, id);
    const { at, tag, hide, outside, to = defaultFolder } = options;
    const name = options.name ?? toFileName(shortId(sessionId));
    if (!/^[\w-][\w.-]{0,99}$/.test(name))
      throw new PawlError(
        "bad_input",
        `${JSON.stringify(name)} cannot be the name of a case. Use up to 100 letters, digits, ".", "_" and "-": --name refund-twice.`,
      );
    const path = join(to, `${name}.json`);
    if (existsSync(path) && options.force !== true)
      throw new PawlError(
        "bad_input",
        `The case ${path} already exists. Give another --name, or replace it with --force.`,
      );
    const made = await createCase(store, sessionId, {
      name,
      redact: terminal.redaction.text,
      ...(at === undefined ? {} : { at }),
      ...(tag === undefined ? {} : { tags: tag }),
      ...(hide === undefined ? {} : { hide }),
      ...(outside === undefined ? {} : { outsideTools: outside }),
    });
    writeText(path, `${JSON.stringify(made, null, 2)}\n`);
    if (options.json === true) terminal.json({ path, ...countParts(made) });
    else terminal.out(describeCase(made, relative(".", path)));
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

function countParts(made: EvalCase) {
  const { turns, calls = [], sessions = [], expected, outsideTools = [] } = made;
  return {
    turns: turns.length,
    calls: calls.length,
    sessions: sessions.length,
    steps: expected?.steps ?? 0,
    outsideTools: outsideTools.length,
    files: countFiles(made),
  };
}

/** The files whose content is in the case. */
function countFiles({ history = [], turns, calls = [], sessions = [] }: EvalCase): number {
  const steers = sessions.flatMap(({ arrivals = [] }) => arrivals.flatMap(({ steer = [] }) => steer));
  const messages = [...history, ...turns.flatMap(({ input }) => input), ...steers];
  const outputs = calls.flatMap(({ output }) => (output.type === "content" ? output.parts : []));
  const parts = [...messages.flatMap((message): readonly { readonly type: string }[] => message.parts), ...outputs];
  return parts.filter((part) => part.type === "file").length;
}

function describeFiles(count: number): readonly string[] {
  if (count === 0) return [];
  return [
    `The case contains ${formatCount(count, "file")} of requests and results, as base64: nothing in them is`,
    "replaced.",
  ];
}

function describeCase(made: EvalCase, path: string): string {
  const { turns, calls, steps, outsideTools, files } = countParts(made);
  const kept = outsideTools === 0 ? "" : `, ${formatCount(outsideTools, "tool")} from outside`;
  return [
    `Wrote ${sanitize(path)}: ${formatCount(turns, "request")}, ${formatCount(steps, "model call")}, ${formatCount(calls, "result")}${kept}.`,
    "Read it before you commit it. Mail addresses, card, account and phone numbers",
    "and known keys are replaced. Names and other personal text are replaced only",
    "under the members that you pass with --hide.",
    ...describeFiles(files),
    "",
  ].join("\n");
}
