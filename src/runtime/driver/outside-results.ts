/**
 * Calls `toModelOutput` for a result that another program provided (`session.provideResult`). That program need not have the
 * tool, so the holder makes the call. The result stays in the inbox until it is committed: if the process dies, the next
 * holder calls it again.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { hasCalls } from "../../core/machine/state.js";
import { toolNameOf } from "../../core/transcript/results.js";
import { createOutsideOutput } from "../effects/model-output.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { capResult } from "../work/cap-output.js";
import type { EffectContext } from "../work/effect-context.js";
import { validateInput } from "../work/tool-input.js";
import type { MessageChange } from "./driver-types.js";

/** The call that this message provides a result for; undefined for any other message. */
export function findProvidedCall({ id, body }: InboxMessage): string | undefined {
  return body.type === "result" && id === `result/${body.callKey}` && body.isError !== true ? body.callKey : undefined;
}

/** Undefined if the model reads the result unchanged. */
export function* createModelResult(
  message: InboxMessage,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<MessageChange | undefined> {
  const { agent, sessionId, transcript, state } = context;
  const { body } = message;
  const record = body.type === "result" && hasCalls(state) ? transcript.calls.get(body.callKey) : undefined;
  const compiled = record === undefined ? undefined : agent.tools.get(toolNameOf(record));
  if (body.type !== "result" || record === undefined || compiled?.tool.toModelOutput === undefined) return undefined;
  const input = yield* wait(validateInput(compiled, record, context, cancellation));
  const call = { toolCallId: record.part.toolCallId, input: input.ok ? input.value : record.input };
  const { outcome, ...outputs } = yield* createOutsideOutput(compiled.tool, body.output, call, context);
  const cut = yield* wait(capResult(outputs, toolNameOf(record), sessionId, agent));
  const changed = { ...body, ...cut, ...(outcome === "ok" ? {} : { isError: true }) };
  return { message: { ...message, body: changed }, events: (events) => events };
}
