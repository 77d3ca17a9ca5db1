/**
 * The statuses of sessions, for filters and response schemas.
 */
import type { Status } from "../index.js";

export const statuses: readonly string[] = Object.keys({
  idle: true,
  preparing: true,
  model_running: true,
  tool_running: true,
  awaiting_human: true,
  completed: true,
  failed: true,
  aborted: true,
} satisfies Record<Status, true>);
