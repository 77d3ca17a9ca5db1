/**
 * The answers that the server has found in the logs, preceded by the answers that this page has sent.
 */
import type { ApprovalDecision, GivenAnswer, Json, SessionInfo, StoredApproval } from "../../index.js";

export type AnsweredCall = {
  readonly sessionId: string;
  readonly session: SessionInfo | null;
  readonly callKey: string;
  readonly name: string;
  readonly answer: string;
  readonly at: number;
  readonly by?: string;
  readonly note?: string;
  /** The person's answer, before the permission check denied the call. */
  readonly overruled?: NonNullable<GivenAnswer["overruled"]>;
  /** The id of a tool's question. */
  readonly questionId?: string;
  /** The original input, and the edited input that was allowed instead. */
  readonly input?: Json;
  readonly edited?: Json;
  readonly value?: Json;
  /** This page also answered, but another answer came first. */
  readonly isSecond?: true;
};

export type AnswersPage = {
  readonly answered: readonly AnsweredCall[];
  /** The cursor of the next page; null if there is none. */
  readonly next: string | null;
};

export const emptyAnswers: AnswersPage = { answered: [], next: null };

/** The maximum number of answers. */
const maxAnswers = 500;

/** Merges a page of answers. The first page replaces the known answers, except for those that it does not have yet. */
export function mergeAnswers(previous: AnswersPage, page: AnswersPage, isMore: boolean): AnswersPage {
  const ids = new Set(page.answered.map(toAnswerId));
  const others = previous.answered.filter((call) => !ids.has(toAnswerId(call)));
  const seconds = new Set(previous.answered.filter(({ isSecond }) => isSecond).map(toAnswerId));
  const loaded = page.answered.map((call) =>
    seconds.has(toAnswerId(call)) ? { ...call, isSecond: true as const } : call,
  );
  const answered = isMore ? [...others, ...loaded] : [...loaded, ...others];
  const sorted = answered.sort((a, b) => b.at - a.at).slice(0, maxAnswers);
  return { answered: sorted, next: isMore || previous.next === null ? page.next : previous.next };
}

/** Adds an answer that this page has just sent. */
export function addOwnAnswer(previous: AnswersPage, ownCall: AnsweredCall): AnswersPage {
  const others = previous.answered.filter((call) => toAnswerId(call) !== toAnswerId(ownCall));
  return { ...previous, answered: [ownCall, ...others] };
}

/** The id of an answer. A call may have several questions: it may ask again after a crash, and its tool may ask any number. */
export function toAnswerId({ sessionId, callKey, questionId = "", answer, overruled }: AnsweredCall): string {
  return `${sessionId} ${callKey} ${questionId} ${overruled?.answer ?? answer}`;
}

/** The answer that this page has sent, or the answer that was accepted instead. */
export function createOwnAnswer(
  { sessionId, session, callKey, name, input, questionId }: StoredApproval,
  decision: ApprovalDecision,
  counted: "first" | "second",
  answer: GivenAnswer | null,
): AnsweredCall {
  const { by, note, overruled, at = Date.now() } = answer ?? {};
  const isSecond = counted === "second";
  return {
    sessionId,
    session,
    callKey,
    name,
    input,
    at,
    answer: isSecond ? (answer?.type ?? "gone") : decision.type,
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
    ...(overruled === undefined ? {} : { overruled }),
    ...(questionId === undefined ? {} : { questionId }),
    ...(decision.type === "modify" && !isSecond ? { edited: decision.input as Json } : {}),
    ...(decision.type === "reply" && !isSecond ? { value: decision.value as Json } : {}),
    ...(isSecond ? { isSecond } : {}),
  };
}
