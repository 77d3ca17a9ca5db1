/**
 * The questions of a server with protocol 2025-11-25: the server asks within a request, and holds the request open until the
 * question is answered. So its questions end with the request, the connection or this process.
 *
 * 1. The protocol does not say which call a question belongs to. It is asked in the oldest call in progress; if that call ends
 *    before the answer, in the next one.
 * 2. A server that waits for a person is not silent: its timeout is paused.
 */
import type { ElicitResult } from "@modelcontextprotocol/client";
import { markHeld } from "../../ports/held-question.js";
import type { ToolContext } from "../../ports/tool.js";
import { parseElicitation, toElicitResult } from "./questions.js";

/** A call of one of the server's tools, while its request is open. */
export type LiveCall = {
  /** Aborted when the server has been silent for too long. */
  readonly silenceSignal: AbortSignal;
  /** Called when the server has sent something. */
  readonly recordActivity: () => void;
  readonly end: () => void;
};

type ActiveCall = {
  readonly context: Pick<ToolContext, "ask" | "attempt">;
  readonly pause: () => () => void;
  questionCount: number;
};

export type LiveQuestions = {
  readonly beginCall: (context: Pick<ToolContext, "ask" | "attempt">, timeoutMs: number) => LiveCall;
  /** Asks a person the server's question. Cancelled if no call is in progress. */
  readonly answer: (params: unknown) => Promise<ElicitResult>;
};

export function createLiveQuestions(peer: string, expiresInMs: number): LiveQuestions {
  const activeCalls = new Set<ActiveCall>();

  return {
    beginCall(context, timeoutMs) {
      const { silenceSignal, recordActivity, pause, stop } = createSilenceTimer(timeoutMs);
      const call = { context, pause, questionCount: 0 };
      activeCalls.add(call);
      return {
        silenceSignal,
        recordActivity,
        end() {
          activeCalls.delete(call);
          stop();
        },
      };
    },
    async answer(params) {
      const parsed = parseElicitation(peer, params);
      if ("refused" in parsed) throw new Error(`The question cannot be asked: ${parsed.refused}.`);
      for (;;) {
        const [call] = activeCalls;
        if (call === undefined) return { action: "cancel" };
        const { context, pause } = call;
        call.questionCount += 1;
        // A later attempt asks again, because an answer is used only once.
        const name =
          context.attempt === 1
            ? `question-${call.questionCount}`
            : `question-${context.attempt}.${call.questionCount}`;
        const resume = pause();
        try {
          const answer = await context.ask(markHeld({ ...parsed.question, name, expiresInMs }));
          return toElicitResult(parsed.question, answer);
        } catch (error) {
          if (activeCalls.has(call)) throw error;
        } finally {
          resume();
        }
      }
    },
  };
}

/** A timeout that restarts with each sign of life, and can be paused. */
function createSilenceTimer(timeoutMs: number) {
  const controller = new AbortController();
  const end = () => controller.abort(new Error(`it said nothing for ${timeoutMs} ms`));
  let pauses = 0;
  let timer = setTimeout(end, timeoutMs);
  const recordActivity = () => {
    clearTimeout(timer);
    if (pauses === 0) timer = setTimeout(end, timeoutMs);
  };
  return {
    silenceSignal: controller.signal,
    recordActivity,
    pause() {
      pauses += 1;
      clearTimeout(timer);
      return () => {
        pauses -= 1;
        recordActivity();
      };
    },
    stop() {
      pauses = Number.POSITIVE_INFINITY;
      clearTimeout(timer);
    },
  };
}
