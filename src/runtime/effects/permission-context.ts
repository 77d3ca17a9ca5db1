/**
 * The context of the author's checks of a call: the conversation, and the session's data.
 */
import type { HookContext } from "../../ports/hook.js";
import type { PermissionContext } from "../../ports/tool.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { type ResolvedList, resolveList } from "../work/message-lists.js";
import { listSeenMessages } from "../work/seen-messages.js";

/** The list that the model was sent in this step instead of the conversation; null if it was sent the conversation. */
export function* resolveSentMessages({ transcript, memory }: EffectContext): Coroutine<ResolvedList | null> {
  const { sentList } = transcript;
  return sentList === null ? null : yield* wait(resolveList(sentList, memory.texts));
}

/** The messages are assembled only if code reads them. */
export function createPermissionContext(
  own: HookContext,
  toolCallId: string,
  { transcript }: EffectContext,
  sent: ResolvedList | null,
): PermissionContext {
  const { sessionId, runId, principal, deps, params } = own;
  return Object.freeze({
    sessionId,
    runId,
    ...(principal === undefined ? {} : { principal }),
    toolCallId,
    deps,
    params,
    get signal() {
      return own.signal;
    },
    get messages() {
      return listSeenMessages(transcript, sent);
    },
    get data() {
      return own.data;
    },
  });
}
