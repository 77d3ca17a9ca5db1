/**
 * `pawl resume`: continues an interrupted run, asks about calls that wait, or follows a run of another process.
 */
import { PawlError, type SessionSummary, type Store } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { toAgentChoices } from "../agent/agent-choices.js";
import { agentName, isFolderChild } from "../agent/agent-name.js";
import { findMissingTools, formatMissingToolAdvice } from "../agent/folder-agent.js";
import { findUnfinishedSession, getLatestSession } from "../agent/latest-session.js";
import { isUnfinished } from "../agent/session-progress.js";
import { resolveAgents } from "../child-agents/resolve-agents.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { getSession, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { resolveServers } from "../mcp/resolve-servers.js";
import { type DriveOptions, withSessionDriver } from "../run/drive-session.js";
import { awaitOutcome } from "../run/run-on-terminal.js";
import type { Terminal } from "../terminal/terminal.js";
import { joinWords, sanitize } from "../terminal/text.js";

/** Permissions given earlier in the run do not apply: the person who resumes it gives them again. */
export async function resume(id: string | undefined, options: DriveOptions, terminal: Terminal): Promise<number> {
  return withSessionDriver(options, terminal, async ({ store, drive }) => {
    const named = id === undefined ? await findSessionToResume(store) : await getSession(store, id);
    // A child session is continued through the session that waits for it.
    const isChild = named.info?.top !== undefined && isFolderChild(named.info.agent);
    const summary = isChild ? await getSession(store, named.info.top) : named;
    const { sessionId, info, seq, holder } = summary;
    await assertUnfinished(store, summary);
    if (info?.agent !== agentName || info.root === undefined) throw createForeignSessionError(summary);
    const home = resolveHome(process.env);
    const root = resolveFolder(info.root);
    const configured = resolveConfiguration({ root, home });
    const { allowShell } = toAgentChoices(options, { root, home }, configured);
    const servers = resolveServers({ root, home }, configured.trust).filter(({ off }) => off === null);
    const startable = servers.map(({ name }) => name);
    const { list: agents } = resolveAgents(configured.trust);
    const missing = await findMissingTools({ store, home, root, allowShell, sessionId, startable, agents });
    const short = sanitize(shortId(sessionId));
    const title = info.title === undefined ? "" : `: ${sanitize(terminal.redaction.text(info.title))}`;
    terminal.err(`${terminal.style("dim", `Resuming ${short}${title}`)}\n`);
    for (const [advice, tools] of groupByAdvice(missing))
      terminal.err(
        `This session had the ${tools.length === 1 ? "tool" : "tools"} ${sanitize(joinWords(tools, "and"))}, which ${tools.length === 1 ? "is" : "are"} missing now. ${advice}.\n`,
      );
    const wantsData = await hasOutputSchema(store, sessionId);
    const target = { sessionId, root: info.root, after: seq, lastModel: info.model, wantsData };
    return drive(target, (_agent, _canAsk, session) => {
      if (holder !== null && !isHolderDead(holder))
        terminal.hint(
          `Following the run in process ${holder.pid}. Ctrl-C leaves it running; pawl abort ${short} ends it.\n`,
        );
      return awaitOutcome(session);
    });
  });
}

/** The missing tools, by what the person can do about them. */
function groupByAdvice(tools: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>();
  for (const tool of tools) {
    const advice = formatMissingToolAdvice(tool);
    groups.set(advice, [...(groups.get(advice) ?? []), tool]);
  }
  return groups;
}

/** The newest session of this folder with an unfinished run; else the newest session, so that the error explains why it has ended. */
async function findSessionToResume(store: Store): Promise<SessionSummary> {
  const root = resolveFolder(".");
  const unfinished = await findUnfinishedSession(store, root);
  return unfinished ?? getLatestSession(store, root, '"pawl sessions --all" lists those of other folders.');
}

/** Whether the run in progress was started with `--output-schema`. */
async function hasOutputSchema(store: Store, sessionId: string): Promise<boolean> {
  const state = (await store.load(sessionId))?.state;
  if (state === undefined || state.status === "idle") return false;
  const readEvent = async (seq: number) => (await store.read(sessionId, seq - 1, 1))[0]?.event;
  const started = await readEvent(state.startSeq);
  if (started?.type !== "run_started") return false;
  // The options of a run that waited for its turn are in the entry that queued it.
  const request =
    "queuedSeq" in started && started.queuedSeq !== undefined ? await readEvent(started.queuedSeq) : started;
  return request !== undefined && "options" in request && request.options?.output !== undefined;
}

function createForeignSessionError({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} was not started by pawl run${info === null ? "" : ` but by the agent "${info.agent}"`}. Resume it in the program of that agent, with agent.session(id).resume(), or with a worker: pawl worker MODULE, where MODULE exports the agent.`,
  );
}

async function assertUnfinished(store: Store, summary: SessionSummary): Promise<void> {
  if (isUnfinished(summary)) return;
  const { sessionId, status } = summary;
  const queued = (await store.load(sessionId))?.state.queue.some(({ kind }) => kind === "run") ?? false;
  if (queued) return;
  const id = shortId(sessionId);
  throw new PawlError(
    "run_finished",
    `The last run of session ${id} has ended (${status}): there is nothing to resume. To continue the session: pawl run --session ${id} "…"`,
  );
}
