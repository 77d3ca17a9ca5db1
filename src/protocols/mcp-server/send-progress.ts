/**
 * Reports the progress of a run to an MCP client, if the client asked for it.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ViewChange } from "../../view/view-change.js";
import { createProgressText } from "../describe-progress.js";

export function createProgress({ mcpReq }: ServerContext): (change: ViewChange) => Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return async () => {};
  const describe = createProgressText();
  let progress = 0;
  return async (change) => {
    const message = describe(change);
    if (message === null) return;
    progress += 1;
    await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } });
  };
}
