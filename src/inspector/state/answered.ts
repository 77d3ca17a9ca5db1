/**
 * What was answered: the answers that the server has found in the logs, and before them those that this page has sent.
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
  /** What the person had said before the permission check denied the call. */
  readonly overruled?: NonNullable<GivenAnswer["overruled"]>;
  /** The question of a tool. */
  readonly questionId?: string;
  /** What was asked, and what was allowed in its place. */
  readonly input?: Json;
  readonly edited?: Json;
  readonly value?: Json;
  /** This page answered as well, and somebody was first. */
  readonly isSecond?: true;
};

export type AnswersPage = {
  readonly answered: readonly AnsweredCall[];
  /** The cursor of the next page; null: there is none. */
  readonly next: string | null;
};

export const emptyAnswers: AnswersPage = { answered: [], next: null };

/** Answers that are kept. */
const maxAnswers = 500;

/** The answers with those of a page: the first page takes the place of what was known, except for what it does not have yet. */
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

/** The answers with one that was just sent from here. */
export function addOwnAnswer(previous: AnswersPage, ownCall: AnsweredCall): AnswersPage {
  const others = previous.answered.filter((call) => toAnswerId(call) !== toAnswerId(ownCall));
  return { ...previous, answered: [ownCall, ...others] };
}

/** A call may be asked about several times: after a crash again, and by a tool any number of times. */
export function toAnswerId({ sessionId, callKey, questionId = "", answer, overruled }: AnsweredCall): string {
  return `${sessionId} ${callKey} ${questionId} ${overruled?.answer ?? answer}`;
}

/** What this page has sent, or what counts in its place. */
export function createOwnAnswer(
  { sessionId, session, callKey, name, input, questionId }: StoredApproval,
  decision: ApprovalDecision,
  counted: "first" | "second",
  answer: GivenAnswer | null,
): AnsweredCall {
  const { by, note, overruled, at = Date.now() } = answer ?? {};
  const isSecond = counted === "second";
  return {
    ...{ sessionId, session, callKey, name, input, at, answer: isSecond ? (answer?.type ?? "gone") : decision.type },
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
    ...(overruled === undefined ? {} : { overruled }),
    ...(questionId === undefined ? {} : { questionId }),
    ...(decision.type === "modify" && !isSecond ? { edited: decision.input as Json } : {}),
    ...(decision.type === "reply" && !isSecond ? { value: decision.value as Json } : {}),
    ...(isSecond ? { isSecond } : {}),
  };
}
