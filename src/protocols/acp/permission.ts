/**
 * A call that waits, as a request of permission to the person in the editor; and what they choose, as an answer.
 *
 * 1. The person sees the whole input of the call, as it would run.
 * 2. A request that is cancelled is no answer: it aborts the run.
 */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import type { ApprovalDecision, PendingApproval } from "../../index.js";
import { type FormContent, formSchemaOf, valueOfForm } from "../question-form.js";
import { viewOfCall } from "./call-view.js";

/** The options of a request, by what is asked. `external` calls are not asked: a program gives their result. */
const optionsOf: { readonly [Why in PendingApproval["why"]]: readonly PermissionOption[] } = {
  policy: [
    { optionId: "allow", name: "Allow", kind: "allow_once" },
    { optionId: "reject", name: "Reject", kind: "reject_once" },
  ],
  provider: [
    { optionId: "allow", name: "Allow", kind: "allow_once" },
    { optionId: "reject", name: "Reject", kind: "reject_once" },
  ],
  recovery: [
    { optionId: "done", name: "It is done", kind: "reject_once" },
    { optionId: "fail", name: "It failed", kind: "reject_once" },
    { optionId: "rerun", name: "Run it again", kind: "allow_once" },
  ],
  tool: [],
  external: [],
};

/** What is chosen for this and for later calls of the tool. It is offered if the agent's host can remember it. */
const always: PermissionOption = { optionId: "always", name: "Always allow this tool", kind: "allow_always" };

export function permissionRequest(
  sessionId: string,
  { callKey, name, input, question, why }: PendingApproval,
  { root, canAllowAlways }: { readonly root: string; readonly canAllowAlways: boolean },
): RequestPermissionRequest {
  const { title, kind, locations, content } = viewOfCall(name, input, root);
  const offersAlways = canAllowAlways && why === "policy";
  const note =
    question === undefined ? [] : [{ type: "content" as const, content: { type: "text" as const, text: question } }];
  return {
    sessionId,
    toolCall: {
      toolCallId: callKey,
      title,
      name,
      kind,
      status: "pending",
      rawInput: input,
      locations,
      content: [...content, ...note],
    },
    options: [...optionsOf[why], ...(offersAlways ? [always] : [])],
  };
}

/** What the person chose; null if the request was cancelled. */
export type Choice = { readonly decision: ApprovalDecision; readonly always: boolean } | null;

export function choiceOf(outcome: RequestPermissionOutcome): Choice {
  if (outcome.outcome === "cancelled") return null;
  switch (outcome.optionId) {
    case "allow":
      return { decision: { type: "approve" }, always: false };
    case "always":
      return { decision: { type: "approve" }, always: true };
    case "rerun":
      return { decision: { type: "rerun" }, always: false };
    case "fail":
      return { decision: { type: "fail" }, always: false };
    case "done":
      return {
        decision: { type: "result", output: "The person says that this call has done its work." },
        always: false,
      };
    default:
      return { decision: { type: "deny" }, always: false };
  }
}

/** The form for a question of a tool; null if an editor has no form for such an answer. */
export function formOf(sessionId: string, asked: PendingApproval): CreateElicitationRequest | null {
  const requestedSchema = formSchemaOf(asked);
  if (requestedSchema === null) return null;
  const message = asked.question ?? `${asked.name} asks.`;
  // The cast holds: each property is a text, a number, or true or false.
  return { mode: "form", sessionId, message, requestedSchema } as CreateElicitationRequest;
}

/** What the person filled in; null if they cancelled the form. */
export function replyOf(response: CreateElicitationResponse, asked: PendingApproval): ApprovalDecision | null {
  switch (response.action) {
    case "accept": {
      const { content } = response as { readonly content?: FormContent | null };
      return { type: "reply", value: valueOfForm(content ?? {}, asked) };
    }
    case "cancel":
      return null;
    default:
      return { type: "decline" };
  }
}
