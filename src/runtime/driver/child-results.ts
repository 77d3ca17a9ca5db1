/**
 * Runs `afterToolCall` hooks on the answer of an agent that is used as a tool. The hooks run when the answer is consumed, before it is
 * committed. The answer stays in the inbox until then, so if the process dies, the next holder calls the hooks again.
 */
import { callKeyOf, isCallOfStep } from "../../core/data/call-key.js";
import { type ToolOutput, toolCallsOf } from "../../core/data/message.js";
import { decodeText } from "../../core/data/text-bytes.js";
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import { callAfterToolResult, callOf, type FinishedCall } from "../hooks/tool-hooks.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { readEntries } from "../log/read-entries.js";
import { capOutput } from "../work/cap-output.js";
import type { EffectContext } from "../work/effect-context.js";
import type { MessageChange } from "./driver-types.js";

/** The call whose agent answers with this message; undefined for any other message. */
export function findAnsweredCall({ body }: InboxMessage): string | undefined {
  return body.type === "result" && body.child !== undefined ? body.callKey : undefined;
}

/** Undefined if the answer does not change. */
export function* runAfterToolCallHooks(
  message: InboxMessage,
  context: EffectContext,
): Coroutine<MessageChange | undefined> {
  const { agent, sessionId } = context;
  const { body } = message;
  if (body.type !== "result" || agent.hooks.afterToolCall.length === 0) return undefined;
  const call = yield* wait(findCall(body.callKey, context));
  const wholeOutput = yield* wait(loadWhole(body.output, context));
  const outcome = { outcome: body.isError === true ? "error" : "ok", output: wholeOutput } as const;
  const after = yield* callAfterToolResult(outcome, { ...call, durationMs: 0, source: "agent" }, context);
  const isUnchanged = after.output === wholeOutput;
  const output = isUnchanged ? body.output : yield* wait(capOutput(after.output, call.name, sessionId, agent));
  const { isError: _, ...rest } = body;
  const changed = { ...rest, output, ...(after.outcome === "ok" ? {} : { isError: true }) };
  return { message: { ...message, body: changed }, events: (events) => attachRecords(events, after.records) };
}

/** Loads the full text of an answer that the child has truncated. Hooks see all of it, because the model may read the rest later. */
async function loadWhole(output: ToolOutput, { agent, sessionId }: EffectContext): Promise<ToolOutput> {
  if (output.type === "json" || output.full === undefined) return output;
  const bytes = await agent.store.getBlob(sessionId, output.full.blob);
  return bytes === null ? output : { type: "text", text: decodeText(bytes) };
}

/** Finds the call, which may be in an earlier step that only the log has. */
async function findCall(
  callKey: string,
  { transcript, agent, sessionId }: EffectContext,
): Promise<Omit<FinishedCall, "durationMs" | "source">> {
  const record = transcript.calls.get(callKey);
  if (record !== undefined) return callOf(record);
  for await (const { event } of readEntries(agent.store, sessionId, 0)) {
    if (event.type !== "model_finished" || !isCallOfStep(callKey, event.runId, event.modelCallIndex)) continue;
    const calls = toolCallsOf(event.message);
    const part = calls.find((_, index) => callKeyOf(event.runId, event.modelCallIndex, index + 1) === callKey);
    if (part !== undefined) return callOf({ callKey, part, input: part.input });
  }
  return { callKey, toolCallId: "", name: "", input: null };
}

function attachRecords(events: readonly EventBody[], records: readonly HookRecord[]): readonly EventBody[] {
  return events.map((event) =>
    event.type === "tool_finished" || event.type === "late_result" ? { ...event, ...pickHookRecords(records) } : event,
  );
}
