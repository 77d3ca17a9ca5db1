/**
 * Converts a waiting call to a permission request for the person in the editor, and their choice to a decision.
 *
 * 1. The person sees the whole input of the call, as it would run.
 * 2. A cancelled request is not an answer: it aborts the run.
 */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import type { ApprovalDecision, PendingApproval } from "../../index.js";
import { answers, listAnswerChoices } from "../../view/question-choices.js";
import { createFormSchema, type FormContent, readFormValue } from "../question-form.js";
import { createCallView } from "./call-view.js";
import type { RuleChoice, RuleChoices } from "./open-session.js";

/**
 * The answers that need only a choice from the person. Editors that decide without the person pick an option by its kind, so only
 * options that run the call have an `allow` kind. Editors do not ask about `external` calls: a program sends their result.
 */
function listOptions(why: PendingApproval["why"]): readonly PermissionOption[] {
  return listAnswerChoices(why).flatMap(({ name, title, takes }) =>
    takes === "value"
      ? []
      : [{ optionId: name, name: title, kind: takes === "nothing" ? "allow_once" : "reject_once" }],
  );
}

/** The id of the option that saves a rule. */
const formatRuleOption = (at: number) => `always-${at + 1}`;

export function createPermissionRequest(
  sessionId: string,
  { callKey, name, input, question, why }: PendingApproval,
  root: string,
  { choices, notes }: RuleChoices = { choices: [], notes: [] },
): RequestPermissionRequest {
  const { title, kind, locations, content } = createCallView(name, input, root);
  const contentTexts = [...(question === undefined ? [] : [question]), ...notes];
  const noteContents = contentTexts.map((text) => ({
    type: "content" as const,
    content: { type: "text" as const, text },
  }));
  const rules = choices.map(
    ({ label }, at): PermissionOption => ({
      optionId: formatRuleOption(at),
      name: `Always allow ${label}`,
      kind: "allow_always",
    }),
  );
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
      content: [...content, ...noteContents],
    },
    options: [...listOptions(why), ...rules],
  };
}

/** A tool's question with a list of answers, for editors without forms. */
export type ChoiceRequest = {
  readonly request: RequestPermissionRequest;
  /** The decision of an option; null if the request was cancelled. */
  readonly toDecision: (outcome: RequestPermissionOutcome) => ApprovalDecision | null;
};

/** The maximum number of options in a menu. */
const maxChoices = 20;

/**
 * Turns each answer into an option. Returns null if the question lists no answers, or too many. Some editors allow or reject calls without
 * asking the person, by picking the first option of that kind. So no option has an `allow` kind, and the first one gives no answer.
 */
export function createChoiceRequest(sessionId: string, approval: PendingApproval, root: string): ChoiceRequest | null {
  const values = approval.schema?.enum;
  const isList = Array.isArray(values) && values.length <= maxChoices;
  if (!isList || values.some((value) => typeof value !== "string")) return null;
  const texts = values as readonly string[];
  const replies = texts.map(
    (name, at): PermissionOption => ({ optionId: `answer-${at + 1}`, name, kind: "reject_once" }),
  );
  const decline: PermissionOption = { optionId: "decline", name: "No answer", kind: "reject_once" };
  return {
    request: { ...createPermissionRequest(sessionId, approval, root), options: [decline, ...replies] },
    toDecision(outcome) {
      if (outcome.outcome === "cancelled") return null;
      const value = texts[replies.findIndex(({ optionId }) => optionId === outcome.optionId)];
      return value === undefined ? answers.decline.decide("") : answers.reply.decide(value);
    },
  };
}

/** The person's choice; null if the request was cancelled. */
export type Choice = { readonly decision: ApprovalDecision; readonly rule?: RuleChoice } | null;

export function toChoice(outcome: RequestPermissionOutcome, why: PendingApproval["why"], rules?: RuleChoices): Choice {
  if (outcome.outcome === "cancelled") return null;
  const rule = rules?.choices.find((_, at) => formatRuleOption(at) === outcome.optionId);
  if (rule !== undefined) return { decision: answers.allow.decide(), rule };
  const choice = listAnswerChoices(why).find(({ name }) => name === outcome.optionId);
  if (choice?.takes === "nothing") return { decision: choice.decide() };
  if (choice?.takes === "text") return { decision: choice.decide("") };
  // An option that was not offered counts as a denial. For an interrupted call, it decides nothing.
  return why === "recovery" ? null : { decision: answers.deny.decide("") };
}

/** The form for a tool's question; null if a form cannot express the answer. */
export function createForm(sessionId: string, approval: PendingApproval): CreateElicitationRequest | null {
  const requestedSchema = createFormSchema(approval);
  if (requestedSchema === null) return null;
  const message = approval.question ?? `${approval.name} asks.`;
  // The cast is safe: each property is a string, a number or a boolean.
  return { mode: "form", sessionId, message, requestedSchema } as CreateElicitationRequest;
}

/** The person's answer; null if they cancelled the form. */
export function toDecision(response: CreateElicitationResponse, approval: PendingApproval): ApprovalDecision | null {
  switch (response.action) {
    case "accept": {
      const { content } = response as { readonly content?: FormContent | null };
      return answers.reply.decide(readFormValue(content ?? {}, approval));
    }
    case "cancel":
      return null;
    default:
      return answers.decline.decide("");
  }
}
