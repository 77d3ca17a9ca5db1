/**
 * The open questions of a session, in the order in which they were asked.
 */

import type { Json, PendingApproval, PublicEvent } from "../../../index.js";

/** An agent that the session called, and the beginning of its task, which the model wrote. */
export type AskingAgent = { readonly name: string; readonly task: string | null };

export type OpenQuestion = Omit<PendingApproval, "sessionId" | "toolCallId"> & {
  /** The child session that asks; absent if this session asks. */
  readonly childId?: string;
  /** The child session works in the background: its question stays open when the run of this session continues or ends. */
  readonly isBackground?: boolean;
};

type AskingChild = Pick<OpenQuestion, "childId" | "isBackground">;
type ApprovalRequested = Extract<PublicEvent, { readonly type: "approval_requested" }>;
type QuestionKey = { readonly callKey: string; readonly questionId?: string };
/** `at`: epoch milliseconds. */
type Answered = QuestionKey & { readonly at: number };

function formatQuestionKey({ callKey, questionId }: QuestionKey): string {
  return `${callKey} ${questionId ?? ""}`;
}

export type OpenQuestions = {
  readonly all: () => readonly OpenQuestion[];
  /** @param child the child session that asks, if it is not this session */
  readonly ask: (event: ApprovalRequested, child?: AskingChild) => void;
  readonly answered: (answered: Answered) => void;
  /** Replaces the open questions. A question that was answered after it was asked is not added: the items of children may arrive first. */
  readonly replace: (approvals: readonly PendingApproval[], sessionId: string) => void;
  /** Replaces a question that is still open by a copy, so that it is shown again. */
  readonly askAgain: (question: OpenQuestion) => void;
  /** Removes the questions of a call that is over. @returns whether there were any */
  readonly close: (callKey: string) => boolean;
  readonly clear: () => void;
};

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, OpenQuestion>();
  /** When questions were last answered; epoch milliseconds. */
  const answeredAt = new Map<string, number>();
  const add = (question: OpenQuestion): void => {
    if (!open.has(formatQuestionKey(question))) open.set(formatQuestionKey(question), question);
  };
  return {
    all: () => [...open.values()],
    ask: ({ at, ...event }, child = {}) => add({ ...event, askedAt: at, ...child }),
    answered: (answered) => {
      open.delete(formatQuestionKey(answered));
      answeredAt.set(formatQuestionKey(answered), answered.at);
    },
    replace(approvals, sessionId) {
      const stillOpen = new Set(approvals.map(formatQuestionKey));
      for (const [key, { isBackground }] of open) if (!stillOpen.has(key) && isBackground !== true) open.delete(key);
      for (const approval of approvals)
        if (approval.askedAt > (answeredAt.get(formatQuestionKey(approval)) ?? 0))
          add({ ...approval, ...(approval.sessionId === sessionId ? {} : { childId: approval.sessionId }) });
    },
    askAgain(question) {
      const key = formatQuestionKey(question);
      if (open.has(key)) open.set(key, { ...question });
    },
    close(callKey) {
      const keys = [...open].filter(([, question]) => question.callKey === callKey).map(([key]) => key);
      for (const key of keys) open.delete(key);
      return keys.length > 0;
    },
    clear() {
      for (const [key, { isBackground }] of open) if (isBackground !== true) open.delete(key);
      answeredAt.clear();
    },
  };
}

const inSandbox =
  ' If commands are sandboxed here (see /status), the setting shell.ask: "outside" lets them run without asking.';

/** Explains to the person why a question is asked. */
export function explainQuestion({ why, name, input, question }: OpenQuestion): string {
  switch (why) {
    case "policy":
      return (
        question ??
        `${name} can change something, and it was not allowed in advance. Tools that only read run without asking.${name === "shell" ? inSandbox : ""}`
      );
    case "provider":
      return `The model's provider runs ${name} itself, and asks before it does.`;
    case "recovery":
      return `The process ended while ${name} ran. The call does not run again by itself, because it may already have done its work.`;
    case "external":
      return `${name} runs outside of Pawl, which waits for its result.`;
    case "tool":
      return `${name} needs an answer from a person before it can continue.${isEmptyObject(input) ? "" : " Its input is shown above."}`;
  }
}

function isEmptyObject(input: Json): boolean {
  return typeof input === "object" && input !== null && Object.keys(input).length === 0;
}
