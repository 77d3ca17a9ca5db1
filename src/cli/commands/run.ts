/**
 * `pawl run`: runs the agent on a folder with a task.
 */
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { type Json, PawlError, type SessionSummary, type Store, type UserPart } from "../../index.js";
import { composeMessage, createDataPart } from "../agent/attachments.js";
import { getLatestSession } from "../agent/latest-session.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { findSession, shortId } from "../files/session-store.js";
import {
  type DriveOptions,
  type NewRunOptions,
  type SessionDriver,
  toStartOptions,
  withSessionDriver,
} from "../run/drive-session.js";
import { readOutputSchema, startWithSchema } from "../run/output-schema.js";
import { readPipedInput } from "../run/piped-input.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type RunCommandOptions = DriveOptions &
  NewRunOptions & {
    readonly root?: string;
    readonly session?: string;
    readonly continue?: true;
    /** Runs the task in a separate process, which outlives this one. */
    readonly background?: true;
    /** A file with the JSON Schema that the answer must fit. */
    readonly outputSchema?: string;
  };

export async function run(words: readonly string[], options: RunCommandOptions, terminal: Terminal): Promise<number> {
  const { outputSchema } = options;
  const output = outputSchema === undefined ? undefined : readOutputSchema(outputSchema);
  const { task, named, piped } = await readTask(words, terminal);
  // A session that is named, or has waiting calls, must outlive this process.
  const needsDurableStore = options.session !== undefined || options.continue === true || options.park === true;
  const runTask = async ({ store, drive }: SessionDriver) => {
    const folder = resolveFolder(options.root ?? ".");
    const existing = await findSessionToContinue(store, options, folder);
    const root = options.root === undefined ? (existing?.info?.root ?? folder) : folder;
    const sessionId = existing?.sessionId ?? options.session ?? randomUUID();
    const lastModel = existing?.info?.model;
    return drive(
      {
        sessionId,
        root,
        after: existing?.seq ?? 0,
        ...(lastModel === undefined ? {} : { lastModel }),
        wantsData: output !== undefined,
        named,
      },
      (agent, canAsk, _, mentions) => {
        const { input, problems } = composeMessage(task, { root, ...mentions, before: piped, named });
        for (const problem of problems) terminal.err(`${terminal.style("yellow", sanitize(problem))}\n`);
        const startOptions = { sessionId, ...toStartOptions(options, canAsk) };
        return outputSchema === undefined || output === undefined
          ? agent.run(input, startOptions)
          : startWithSchema(outputSchema, () => agent.run<Json>(input, { ...startOptions, output }));
      },
    );
  };
  return withSessionDriver(options, terminal, runTask, { needsDurableStore, creates: true });
}

type Task = {
  readonly task: string;
  /** The words in which `@path` adds a file to the task. */
  readonly named: string;
  readonly piped: readonly UserPart[];
};

/**
 * Reads the task from the arguments or from standard input. Input that is piped in addition to a task is added to it as data.
 * @throws PawlError `bad_input` if there is no task
 */
async function readTask(words: readonly string[], terminal: Terminal): Promise<Task> {
  const task = words.join(" ");
  if (task !== "" && task !== "-") return { task, named: task, piped: await readPipedParts(terminal) };
  if (process.stdin.isTTY === true)
    throw new PawlError(
      "bad_input",
      'There is no task. Give one, as in pawl run "List the files" or pawl run < task.txt',
    );
  const read = (await text(process.stdin)).trim();
  if (read === "")
    throw new PawlError(
      "bad_input",
      'There is no task: standard input is empty. Give one, as in pawl run "List the files"',
    );
  return { task: read, named: "", piped: [] };
}

async function readPipedParts({ err, style }: Terminal): Promise<readonly UserPart[]> {
  const piped = await readPipedInput();
  if (piped.type === "refused") err(`${style("yellow", `Standard input is not part of the task: ${piped.why}.`)}\n`);
  if (piped.type !== "text") return [];
  if (piped.isCut) err(`${style("yellow", "Standard input is too long: only its beginning is part of the task.")}\n`);
  return [createDataPart(`From standard input${piped.isCut ? ", its beginning" : ""}:`, piped.text)];
}

/** The session to continue; undefined if the run needs a new one. */
export async function findSessionToContinue(
  store: Store,
  options: RunCommandOptions,
  folder: string,
): Promise<SessionSummary | undefined> {
  const existing =
    options.continue === true
      ? await getLatestSession(store, folder, "Leave out --continue to start one.")
      : options.session === undefined
        ? undefined
        : await findSession(store, options.session);
  if (existing !== undefined && existing.activity !== "resting") throw createBusyError(existing);
  return existing;
}

function createBusyError({ sessionId, status, activity }: SessionSummary): PawlError {
  const id = shortId(sessionId);
  const obstacle =
    status === "awaiting_human"
      ? "waits for an answer"
      : activity === "waiting"
        ? "has a run that sleeps, or waits for a signal or another session"
        : "has a run that is in progress or was interrupted";
  return new PawlError(
    "session_busy",
    `Session ${id} ${obstacle}. First continue it (pawl resume ${id}) or end it (pawl abort ${id}).`,
  );
}
