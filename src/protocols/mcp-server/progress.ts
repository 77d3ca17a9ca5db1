/**
 * Tells an MCP client how a run goes on, if the client asked for progress.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import { viewOfCall } from "../acp/call-view.js";
import type { FlowItem } from "../message-flow.js";

const longestMessage = 500;

export function createProgress({ mcpReq }: ServerContext): (item: FlowItem) => Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return async () => {};
  let progress = 0;
  let text = "";

  async function tell(message: string): Promise<void> {
    progress += 1;
    const params = { progressToken, progress, message: message.slice(0, longestMessage) };
    await mcpReq.notify({ method: "notifications/progress", params });
  }

  return async (item) => {
    if (item.type === "part_started") text = "";
    if (item.type === "part_added" && text.length < longestMessage) text += item.text;
    if (item.type === "part_ended" && item.kind === "text" && text !== "") await tell(text);
    if (item.type !== "item") return;
    const { item: event } = item;
    if (event.type === "tool_call") await tell(viewOfCall(event.name, event.input, "").title);
    if (event.type === "progress") await tell(event.note);
    if (event.type === "attempt_failed") await tell(`The model failed: ${event.failure.message}`);
  };
}
