/**
 * `pawl run`: runs the agent on a folder with a task.
 */
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { PawlError, type SessionSummary, type Store, type UserPart } from "../../index.js";
import { composeMessage, dataPart } from "../attachments.js";
import {
  type DriveOptions,
  type NewRunOptions,
  realFolder,
  type SessionDriver,
  startOptions,
  withSessionDriver,
} from "../drive-session.js";
import { agentName } from "../folder-agent.js";
import { findSession, shortId } from "../home.js";
import { pipedInput } from "../piped-input.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

export type RunCommandOptions = DriveOptions &
  NewRunOptions & {
    readonly root?: string;
    readonly session?: string;
    readonly continue?: true;
  };

export async function run(words: readonly string[], options: RunCommandOptions, terminal: Terminal): Promise<number> {
  const { task, named, piped } = await readTask(words, terminal);
  // Who names a session, or lets calls wait, needs it after this process.
  const needsKept = options.session !== undefined || options.continue === true || options.park === true;
  const work = async ({ store, drive }: SessionDriver) => {
    const folder = realFolder(options.root ?? ".");
    const known = await knownSession(store, options, folder);
    const root = options.root === undefined ? (known?.info?.root ?? folder) : folder;
    const sessionId = known?.sessionId ?? options.session ?? randomUUID();
    const lastModel = known?.info?.model;
    return drive(
      { sessionId, root, after: known?.seq ?? 0, ...(lastModel === undefined ? {} : { lastModel }) },
      (agent, canAsk, _, files) => {
        const { input, problems } = composeMessage(task, { root, ...files, before: piped, named });
        for (const problem of problems) terminal.err(`${terminal.style("yellow", visible(problem))}\n`);
        return agent.run(input, { sessionId, ...startOptions(options, canAsk) });
      },
    );
  };
  return withSessionDriver(options, terminal, work, { needsKept, creates: true });
}

type Task = {
  readonly task: string;
  /** The words whose `@path` names a file that joins the task. */
  readonly named: string;
  readonly piped: readonly UserPart[];
};

/**
 * The task, from the arguments or from standard input. What is piped beside a task joins it as data.
 * @throws PawlError `bad_input` if there is no task
 */
async function readTask(words: readonly string[], terminal: Terminal): Promise<Task> {
  const task = words.join(" ");
  if (task !== "" && task !== "-") return { task, named: task, piped: await pipedParts(terminal) };
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

async function pipedParts({ err, style }: Terminal): Promise<readonly UserPart[]> {
  const piped = await pipedInput();
  if (piped.type === "refused") err(`${style("yellow", `Standard input does not join the task: ${piped.why}.`)}\n`);
  if (piped.type !== "text") return [];
  if (piped.isCut) err(`${style("yellow", "Standard input is too long: only its beginning joins the task.")}\n`);
  return [dataPart(`From standard input${piped.isCut ? ", its beginning" : ""}:`, piped.text)];
}

/** The session to continue; undefined if the run needs a new one. */
async function knownSession(
  store: Store,
  options: RunCommandOptions,
  folder: string,
): Promise<SessionSummary | undefined> {
  const known =
    options.continue === true
      ? await latestOf(store, folder)
      : options.session === undefined
        ? undefined
        : await findSession(store, options.session);
  if (known !== undefined && known.activity !== "resting") throw busy(known);
  return known;
}

async function latestOf(store: Store, folder: string): Promise<SessionSummary> {
  const sessions = await store.list();
  const latest = sessions.find(({ info }) => info?.agent === agentName && info.root === folder);
  if (latest !== undefined) return latest;
  throw new PawlError("no_session", `No session has worked in ${folder} yet. Leave out --continue to start one.`);
}

function busy({ sessionId, status }: SessionSummary): PawlError {
  const id = shortId(sessionId);
  const obstacle =
    status === "awaiting_human" ? "waits for an answer" : "has a run that is under way or was interrupted";
  return new PawlError(
    "session_busy",
    `Session ${id} ${obstacle}. First continue it (pawl resume ${id}) or end it (pawl abort ${id}).`,
  );
}
