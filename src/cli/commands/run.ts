/**
 * `pawl run`: a task, on a folder, to its end.
 */
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { PawlError, type SessionSummary, type Store } from "../../index.js";
import { type RequestFlags, realFolder, startOptions, type WorkOptions, withWork } from "../drive-session.js";
import { agentName } from "../folder-agent.js";
import { findSession, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";

export type RunCommandOptions = WorkOptions &
  RequestFlags & {
    readonly root?: string;
    readonly session?: string;
    readonly continue?: true;
  };

export async function run(words: readonly string[], options: RunCommandOptions, terminal: Terminal): Promise<number> {
  const task = await readTask(words);
  return withWork(options, terminal, async ({ store, begin }) => {
    const folder = realFolder(options.root ?? ".");
    const known = await knownSession(store, options, folder);
    const root = options.root === undefined ? (known?.info?.root ?? folder) : folder;
    const sessionId = known?.sessionId ?? options.session ?? randomUUID();
    const lastModel = known?.info?.model;
    return begin(
      { sessionId, root, after: known?.seq ?? 0, ...(lastModel === undefined ? {} : { lastModel }) },
      (agent, canAsk) => agent.run(task, { sessionId, ...startOptions(options, canAsk) }),
    );
  });
}

/** @throws PawlError `bad_input` where there is none */
async function readTask(words: readonly string[]): Promise<string> {
  const said = words.join(" ");
  if (said !== "" && said !== "-") return said;
  if (process.stdin.isTTY === true)
    throw new PawlError(
      "bad_input",
      'Say what is to be done: pawl run "List the files", or hand it in: pawl run < task.txt',
    );
  const read = (await text(process.stdin)).trim();
  if (read === "") throw new PawlError("bad_input", "Standard input was empty. Say what is to be done.");
  return read;
}

/** The session to go on with; undefined where a new one is to begin. */
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
  throw new PawlError("no_session", `No session has worked in ${folder} yet. Leave out --continue to begin one.`);
}

function busy({ sessionId, status }: SessionSummary): PawlError {
  const id = shortId(sessionId);
  const what = status === "awaiting_human" ? "waits for an answer" : "has a run under way, or one that was interrupted";
  return new PawlError(
    "session_busy",
    `Session ${id} ${what}. First carry it on (pawl resume ${id}) or end it (pawl abort ${id}).`,
  );
}
