/**
 * The answers that a person can give to a waiting call: their keys, their words, and the decision that each makes. Every
 * front end that asks a person renders this table: the terminal, `pawl run`, `pawl approve`, editors, MCP clients, the page.
 *
 * 1. A key means the same wherever Pawl asks.
 * 2. `y` and `n` do not answer an interrupted call: they would mean opposite things for "Run it again?" and "Is it done?".
 */
import type { ApprovalDecision, PendingApproval } from "../index.js";

/** The person's addition: nothing, a string that may be empty, or the value of the answer. */
type Addition = "nothing" | "text" | "value";

type Choice<Name extends string, Takes extends Addition, Given extends readonly unknown[]> = {
  readonly [One in Name]: {
    readonly name: One;
    readonly key: string;
    /** Typed instead of the key. */
    readonly word: string;
    /** The text after the key. */
    readonly label: string;
    /** The text of a button or of a menu item. */
    readonly title: string;
    /** The key within the text of a line prompt. */
    readonly prompt: string;
    readonly takes: Takes;
    readonly decide: (...given: Given) => ApprovalDecision;
  };
}[Name];

export type PlainChoice = Choice<"allow" | "again", "nothing", []>;
/** The text is a reason, or for `done` the result. */
export type TextChoice = Choice<"deny" | "done" | "failed" | "decline" | "undone", "text", [text: string]>;
export type ValueChoice = Choice<"edit" | "reply" | "result", "value", [value: unknown]>;
export type AnswerChoice = PlainChoice | TextChoice | ValueChoice;

const withNote = (text: string) => (text.trim() === "" ? {} : { note: text.trim() });

/** All answers, by name. */
export const answers = {
  allow: {
    name: "allow",
    key: "y",
    word: "yes",
    label: "yes",
    title: "Approve",
    prompt: "[y]es",
    takes: "nothing",
    decide: () => ({ type: "approve" }),
  },
  deny: {
    name: "deny",
    key: "n",
    word: "no",
    label: "no",
    title: "Deny",
    prompt: "[n]o (reason)",
    takes: "text",
    decide: (reason) => ({ type: "deny", ...withNote(reason) }),
  },
  edit: {
    name: "edit",
    key: "e",
    word: "edit",
    label: "edit",
    title: "Edit",
    prompt: "[e]dit",
    takes: "value",
    decide: (input) => ({ type: "modify", input }),
  },
  done: {
    name: "done",
    key: "d",
    word: "done",
    label: "it is done",
    title: "It is done",
    prompt: "[d]one (result)",
    takes: "text",
    decide: (output) => ({ type: "result", output: output || "The person says that this call has done its work." }),
  },
  failed: {
    name: "failed",
    key: "f",
    word: "failed",
    label: "it failed",
    title: "It failed",
    prompt: "[f]ailed (reason)",
    takes: "text",
    decide: (reason) => ({ type: "fail", ...withNote(reason) }),
  },
  again: {
    name: "again",
    key: "a",
    word: "again",
    label: "run it again",
    title: "Run it again",
    prompt: "run it [a]gain",
    takes: "nothing",
    decide: () => ({ type: "rerun" }),
  },
  reply: {
    name: "reply",
    key: "t",
    word: "type",
    label: "type an answer",
    title: "Reply",
    prompt: "[t]ype an answer",
    takes: "value",
    decide: (value) => ({ type: "reply", value }),
  },
  decline: {
    name: "decline",
    key: "n",
    word: "no",
    label: "no answer",
    title: "Decline",
    prompt: "[n]o answer (reason)",
    takes: "text",
    decide: (reason) => ({ type: "decline", ...withNote(reason) }),
  },
  result: {
    name: "result",
    key: "t",
    word: "type",
    label: "type its result",
    title: "Give the result",
    prompt: "[t]ype its result",
    takes: "value",
    decide: (output) => ({ type: "result", output }),
  },
  /** The call runs outside of Pawl, so its result says that it failed. */
  undone: {
    name: "undone",
    key: "f",
    word: "failed",
    label: "it failed",
    title: "It failed",
    prompt: "[f]ailed (reason)",
    takes: "text",
    decide: (reason) => ({
      type: "result",
      output: reason || "The person says that this call has failed.",
      isError: true,
    }),
  },
} as const satisfies { readonly [Name in AnswerChoice["name"]]: Extract<AnswerChoice, { readonly name: Name }> };

const choicesByReason: { readonly [Why in PendingApproval["why"]]: readonly AnswerChoice[] } = {
  policy: [answers.allow, answers.deny, answers.edit],
  // The provider holds the input, so it cannot be edited.
  provider: [answers.allow, answers.deny],
  recovery: [answers.done, answers.failed, answers.again],
  tool: [answers.reply, answers.decline],
  external: [answers.result, answers.undone],
};

/** The answers to a waiting call. */
export function listAnswerChoices(why: PendingApproval["why"]): readonly AnswerChoice[] {
  return choicesByReason[why];
}

/** Finds the choice for a key or a word. */
export function findAnswerChoice(why: PendingApproval["why"], typed: string): AnswerChoice | undefined {
  return listAnswerChoices(why).find(({ key, word }) => key === typed || word === typed);
}
