/**
 * `pawl agents`: lists the sessions that are running, waiting or interrupted, with child sessions below their parents.
 */
import { listRunningSessions, type RunningSession } from "../agent/running-sessions.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { renderRunningSessions } from "../render/running-sessions.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount } from "../terminal/text.js";

export type AgentsOptions = { readonly all?: true; readonly json?: true };

export async function agents({ all, json }: AgentsOptions, terminal: Terminal): Promise<number> {
  const store = await openStore(resolveHome(process.env));
  try {
    const { shown: here, elsewhere } = await listRunningSessions(store, all === true ? null : resolveFolder("."));
    const shown = here.map((session) => terminal.redaction.value(session));
    if (json === true) {
      for (const session of shown) terminal.json(session);
      return exitCodes.done;
    }
    const columns = process.stdout.columns || Number.POSITIVE_INFINITY;
    for (const line of renderRunningSessions(shown, { columns, now: Date.now(), hasFolders: all === true }))
      terminal.out(`${line}\n`);
    const more = elsewhere === 0 ? "" : ` ${formatCount(elsewhere, "session")} in other folders: pawl agents --all.`;
    if (here.length === 0) terminal.hint(`No agents are running here.${more}\n`);
    else terminal.hint(`${formatAdvice(here)}${more}\n`);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

function formatAdvice(sessions: readonly RunningSession[]): string {
  const has = (progress: RunningSession["progress"]) => sessions.some((session) => session.progress === progress);
  return [
    ...(has("running") ? ["To follow: pawl agents attach ID. To stop: pawl agents stop ID."] : []),
    ...(has("waits_for_person") ? ["To answer: pawl approvals, or pawl --session ID."] : []),
    ...(has("interrupted") || has("answered") ? ["To continue: pawl resume ID, or pawl worker."] : []),
  ].join(" ");
}
