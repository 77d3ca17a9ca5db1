/**
 * Finds out who continues a session after one of its calls was answered.
 */
import type { Store } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { agentName, isFolderChild } from "../agent/agent-name.js";
import type { PendingCall } from "./pending-calls.js";

export type Continuation =
  /** The process that holds the session. */
  | { readonly by: "process"; readonly pid: number }
  /** The program of the agent of this name, or one of its workers. */
  | { readonly by: "program"; readonly agent: string }
  /** Pawl: a window that has it open, a worker, or a command that names `top`, the session at the top of the family. */
  | { readonly by: "pawl"; readonly top: string };

export async function findWhoContinues(
  store: Store,
  { sessionId, session: { agent, top = sessionId } }: PendingCall,
): Promise<Continuation> {
  const holder = (await store.describe(sessionId))?.holder ?? null;
  if (holder !== null && !isHolderDead(holder)) return { by: "process", pid: holder.pid };
  return agent === agentName || isFolderChild(agent) ? { by: "pawl", top } : { by: "program", agent };
}
