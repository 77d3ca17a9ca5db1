/**
 * `pawl replay`: runs a session's log again with the current code, without any effect.
 */
import { excerpts } from "../../core/index.js";
import { PawlError, type Replay, type ReplayDifference, type SessionSummary } from "../../index.js";
import { exitCodes } from "../exit.js";
import { agentName, createFolderAgent, silentModel } from "../folder-agent.js";
import { getSession, homeOf, openStore, shortId } from "../home.js";
import { createPermissions } from "../permissions/permissions.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

export type ReplayCommandOptions = {
  readonly allowShell?: true;
  readonly ignorePrompt?: true;
  readonly json?: true;
};

/** Permissions are taken from the log, because a person gave them. */
export async function replay(id: string, options: ReplayCommandOptions, terminal: Terminal): Promise<number> {
  const home = homeOf(process.env);
  const store = await openStore(home);
  try {
    const summary = await getSession(store, id);
    const { sessionId, info } = summary;
    if (info?.agent !== agentName || info.root === undefined) throw foreignSession(summary);
    const permissions = createPermissions({ allowAll: false, root: info.root, home });
    const allowShell = options.allowShell === true;
    const agent = createFolderAgent({ store, home, model: silentModel, root: info.root, allowShell, permissions });
    const replayed = await agent.session(sessionId).replay({
      policy: "recorded",
      prompt: options.ignorePrompt === true ? "recorded" : "present",
    });
    if (options.json === true) terminal.json(replayed);
    else terminal.out(reportOf(terminal.redaction.value(replayed)));
    return replayed.difference === null ? exitCodes.done : exitCodes.failed;
  } finally {
    await store.close();
  }
}

function reportOf({ sessionId, entries, difference, redactedFrom }: Replay): string {
  const id = visible(shortId(sessionId));
  const limit =
    redactedFrom === undefined
      ? ""
      : `From entry ${redactedFrom} on, content was redacted: the entries there can only be checked to be possible.\n`;
  if (difference === null)
    return `Replayed ${id}: ${entries} ${entries === 1 ? "entry" : "entries"}, no difference.\n${limit}`;
  const [recorded, present] = excerpts(difference.recorded, difference.present);
  const lines = [
    `Replayed ${id} up to ${placeOf(difference)}: the current code behaves differently.`,
    ...(difference.path === "" ? [] : [`  at        ${visible(difference.path)}`]),
    `  recorded  ${visible(recorded)}`,
    `  now       ${visible(present)}`,
    ...(difference.path === "promptHash" ? promptHints : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const promptHints = [
  "The system prompt or the tools changed. If the runs had a shell, add",
  "--allow-shell. To ignore such changes, add --ignore-prompt.",
];

function placeOf({ seq, event }: ReplayDifference): string {
  return event === null ? `its end at entry ${seq}` : `entry ${seq} (${event})`;
}

function foreignSession({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} was not started by pawl run${info === null ? "" : ` but by the agent "${info.agent}"`}. Replay it in the program of that agent: agent.session(id).replay().`,
  );
}
