/**
 * Reports the progress of a run to an MCP client, if the client asked for it.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ViewChange } from "../../view/view-change.js";
import { createCallView } from "../acp/call-view.js";

const maxMessage = 500;

export function createProgress({ mcpReq }: ServerContext): (change: ViewChange) => Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return async () => {};
  let progress = 0;
  let text = "";

  async function sendProgress(message: string): Promise<void> {
    progress += 1;
    const params = { progressToken, progress, message: message.slice(0, maxMessage) };
    await mcpReq.notify({ method: "notifications/progress", params });
  }

  return async (change) => {
    if (change.type === "part_started") text = "";
    if (change.type === "part_grew" && text.length < maxMessage) text += change.text;
    if (change.type === "part_ended" && change.kind === "text" && text !== "") await sendProgress(text);
    if (change.type === "note" && change.item.type === "attempt_failed")
      await sendProgress(`The model failed: ${change.item.failure.message}`);
    if (change.type !== "call_changed") return;
    if (change.by.type === "tool_call") await sendProgress(createCallView(change.by.name, change.by.input, "").title);
    if (change.by.type === "progress") await sendProgress(change.by.note);
  };
}
