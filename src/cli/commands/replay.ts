/**
 * `pawl replay`: replays a session's log with the current code, without any effect.
 */
import { excerpts } from "../../core/index.js";
import { PawlError, type SessionSummary } from "../../index.js";
import type { Replay, ReplayDifference } from "../../inspect.js";
import { agentName } from "../agent/agent-name.js";
import { createFolderAgent } from "../agent/folder-agent.js";
import { silentModel } from "../agent/passive-agent.js";
import { withoutModels } from "../child-agents/choose-agent-models.js";
import { resolveAgents } from "../child-agents/resolve-agents.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { createPermissions } from "../permissions/permissions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { readFolderTrust } from "../trust/trust.js";

export type ReplayCommandOptions = {
  readonly allowShell?: true;
  readonly ignorePrompt?: true;
  readonly json?: true;
};

/** Permissions are taken from the log, because a person gave them. */
export async function replay(id: string, options: ReplayCommandOptions, terminal: Terminal): Promise<number> {
  const home = resolveHome(process.env);
  const store = await openStore(home);
  try {
    const summary = await getSession(store, id);
    const { sessionId, info } = summary;
    if (info?.agent !== agentName || info.root === undefined) throw createForeignSessionError(summary);
    const permissions = createPermissions({ allowAll: false, root: info.root, home });
    const allowShell = options.allowShell === true;
    const { root } = info;
    const agents = withoutModels(resolveAgents(readFolderTrust(root, home)).list);
    const agent = createFolderAgent({ store, home, model: silentModel, root, allowShell, permissions, agents });
    const replayed = await agent.session(sessionId).replay({
      policy: "recorded",
      prompt: options.ignorePrompt === true ? "recorded" : "present",
    });
    if (options.json === true) terminal.json(replayed);
    else terminal.out(formatReport(terminal.redaction.value(replayed)));
    return replayed.difference === null ? exitCodes.done : exitCodes.failed;
  } finally {
    await store.close();
  }
}

function formatReport({ sessionId, entries, difference, redactedFrom }: Replay): string {
  const id = sanitize(shortId(sessionId));
  const redactionNote =
    redactedFrom === undefined
      ? ""
      : `Content was redacted from entry ${redactedFrom} on, so the replay only checks that those entries are possible.\n`;
  if (difference === null)
    return `Replayed ${id}: ${entries} ${entries === 1 ? "entry" : "entries"}, no difference.\n${redactionNote}`;
  const [recorded, present] = excerpts(difference.recorded, difference.present);
  const lines = [
    `Replayed ${id} up to ${formatPosition(difference)}: the current code behaves differently.`,
    ...(difference.path === "" ? [] : [`  at        ${sanitize(difference.path)}`]),
    `  recorded  ${sanitize(recorded)}`,
    `  now       ${sanitize(present)}`,
    ...(difference.path === "promptHash" ? promptHints : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const promptHints = [
  "The system prompt or the tools changed. If the runs had a shell, add",
  "--allow-shell. To ignore such changes, add --ignore-prompt.",
];

function formatPosition({ seq, event }: ReplayDifference): string {
  return event === null ? `its end at entry ${seq}` : `entry ${seq} (${event})`;
}

function createForeignSessionError({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} was not started by pawl run${info === null ? "" : ` but by the agent "${info.agent}"`}. Replay it in the program of that agent: agent.session(id).replay().`,
  );
}
