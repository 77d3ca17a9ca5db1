/**
 * The questions of a server that speaks protocol 2025-11-25: it asks within a request, and holds the request open until
 * it is answered. So its questions end with the request, the connection or this process.
 *
 * 1. The protocol does not say which call a question belongs to. It is asked under the call that began first of those
 *    under way; if that call ends before the answer, under the next one.
 * 2. A server that waits for a person is not silent: its time limit stands still.
 */
import type { ElicitResult } from "@modelcontextprotocol/client";
import { asHeld } from "../../ports/held-question.js";
import type { ToolContext } from "../../ports/tool.js";
import { elicitResult, readElicitation } from "./questions.js";

/** A call of a tool of the server, while its request is open. */
export type LiveCall = {
  /** Aborted when the server has been silent for too long. */
  readonly silent: AbortSignal;
  /** The server has said something. */
  readonly heard: () => void;
  readonly end: () => void;
};

type UnderWay = {
  readonly context: Pick<ToolContext, "ask" | "attempt">;
  readonly pause: () => () => void;
  asked: number;
};

export type LiveQuestions = {
  readonly begin: (context: Pick<ToolContext, "ask" | "attempt">, timeoutMs: number) => LiveCall;
  /** Asks a person what the server asks. Cancelled if no call is under way any more. */
  readonly answer: (params: unknown) => Promise<ElicitResult>;
};

export function createLiveQuestions(server: string, expiresInMs: number): LiveQuestions {
  const underWay = new Set<UnderWay>();

  return {
    begin(context, timeoutMs) {
      const { silent, heard, pause, stop } = createSilence(timeoutMs);
      const call = { context, pause, asked: 0 };
      underWay.add(call);
      return {
        silent,
        heard,
        end() {
          underWay.delete(call);
          stop();
        },
      };
    },
    async answer(params) {
      const read = readElicitation(server, params);
      if ("refused" in read) throw new Error(`The question cannot be asked: ${read.refused}.`);
      for (;;) {
        const [call] = underWay;
        if (call === undefined) return { action: "cancel" };
        const { context, pause } = call;
        call.asked += 1;
        // A later attempt asks again: an answer counts once.
        const name = context.attempt === 1 ? `question-${call.asked}` : `question-${context.attempt}.${call.asked}`;
        const goOn = pause();
        try {
          const answer = await context.ask(asHeld({ ...read.question, name, expiresInMs }));
          return elicitResult(read.question, answer);
        } catch (error) {
          if (underWay.has(call)) throw error;
        } finally {
          goOn();
        }
      }
    },
  };
}

/** A time limit that begins again with each sign of life, and stands still while it is paused. */
function createSilence(timeoutMs: number) {
  const controller = new AbortController();
  const end = () => controller.abort(new Error(`it said nothing for ${timeoutMs} ms`));
  let pauses = 0;
  let timer = setTimeout(end, timeoutMs);
  const heard = () => {
    clearTimeout(timer);
    if (pauses === 0) timer = setTimeout(end, timeoutMs);
  };
  return {
    silent: controller.signal,
    heard,
    pause() {
      pauses += 1;
      clearTimeout(timer);
      return () => {
        pauses -= 1;
        heard();
      };
    },
    stop() {
      pauses = Number.POSITIVE_INFINITY;
      clearTimeout(timer);
    },
  };
}
