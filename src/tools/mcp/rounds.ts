/**
 * A call of a tool of a server that speaks protocol 2026-07-28. Such a server does not hold a request open while a person
 * is asked: it answers `input_required`, and is called again with the answers. So its questions outlive this process.
 *
 * 1. Each request to the server is a tool step. One that may have effects runs once only: after a crash within it, the
 *    call ends with an error, as its outcome is unknown.
 * 2. A large result is not kept twice: it becomes the result of the call only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ToolOutput } from "../../core/data/message.js";
import type { Question, ToolContext } from "../../ports/tool.js";
import { elicitResult, readInputRequest } from "./questions.js";
import { outputOf } from "./result.js";

/** What a server answers: its result, or what it must know first. */
export type Reply =
  | { readonly type: "result"; readonly result: CallToolResult }
  | { readonly type: "asks"; readonly requests: { readonly [key: string]: unknown }; readonly state?: string };

/** What a request after the first brings. */
export type Continued = {
  readonly inputResponses?: { readonly [key: string]: unknown };
  readonly requestState?: string;
};

/** @throws Error if the server gives no result */
export type Send = (continued: Continued, signal: AbortSignal) => Promise<Reply>;

/** A reply as its tool step keeps it. */
type Kept = Reply | { readonly type: "large" } | { readonly type: "failed"; readonly message: string };

type Rounds = {
  readonly server: string;
  readonly send: Send;
  /** The call changes nothing, so a request may be repeated. */
  readonly readOnly: boolean;
  /** How long a question is open. Without it, questions do not expire. */
  readonly answerTimeoutMs: number | undefined;
  readonly context: Pick<ToolContext, "step" | "ask">;
};

const mostRounds = 10;
const mostQuestions = 64;
const mostKeptCharacters = 65_536;
/** Before a server that asks nothing, but is not ready, is called again. */
const pauseMs = 250;

/** @throws Error if the server gives no result, or asks what cannot be asked */
export async function callInRounds(rounds: Rounds): Promise<ToolOutput> {
  const { server } = rounds;
  let continued: Continued = {};
  let asked = 0;
  for (let round = 1; round <= mostRounds; round += 1) {
    const reply = await request(rounds, round, continued);
    if (reply.type === "result") return outputOf(reply.result);
    const requests = Object.entries(reply.requests);
    if (asked + requests.length > mostQuestions)
      throw new Error(`The MCP server "${server}" asks more than ${mostQuestions} questions in one call.`);
    const inputResponses = await answersTo(rounds, requests, asked);
    asked += requests.length;
    continued = {
      ...(requests.length === 0 ? {} : { inputResponses }),
      ...(reply.state === undefined ? {} : { requestState: reply.state }),
    };
  }
  throw new Error(`The MCP server "${server}" gave no result after ${mostRounds} rounds of questions.`);
}

async function request(
  { server, send, readOnly, context }: Rounds,
  round: number,
  continued: Continued,
): Promise<Reply> {
  let large: Reply | undefined;
  const name = round === 1 ? "call" : `call-${round}`;
  // The MCP library has parsed the reply from JSON.
  const run = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
    const reply = await settled(send, continued, signal);
    if (reply.type !== "result" || JSON.stringify(reply.result).length <= mostKeptCharacters) return reply;
    large = reply;
    return { type: "large" };
  };
  const kept = (await context.step(name, run, { once: !readOnly })) as Kept;
  if (kept.type === "failed") throw new Error(kept.message);
  if (kept.type !== "large") return kept as Reply;
  if (large !== undefined) return large;
  throw new Error(
    `The MCP server "${server}" had given its result, and the process died before it was kept. The call is not repeated.`,
  );
}

/** A server that is not ready may answer with its state only. It is called again with it. */
async function settled(
  send: Send,
  continued: Continued,
  signal: AbortSignal,
): Promise<Reply | Extract<Kept, { type: "failed" }>> {
  try {
    let reply = await send(continued, signal);
    for (let again = 1; again < mostRounds && isWait(reply); again += 1) {
      await sleep(pauseMs, undefined, { signal });
      reply = await send(reply.state === undefined ? {} : { requestState: reply.state }, signal);
    }
    return reply;
  } catch (error) {
    if (signal.aborted) throw error;
    return { type: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

function isWait(reply: Reply): reply is Extract<Reply, { type: "asks" }> {
  return reply.type === "asks" && Object.keys(reply.requests).length === 0;
}

/** Asks all questions of a round at once. Nothing is asked if one of them cannot be. */
async function answersTo(
  { server, answerTimeoutMs, context }: Rounds,
  requests: readonly (readonly [string, unknown])[],
  before: number,
): Promise<NonNullable<Continued["inputResponses"]>> {
  const questions = requests.map(([key, one]): readonly [string, Question] => {
    const read = readInputRequest(server, one);
    if ("question" in read) return [key, read.question];
    throw new Error(`The MCP server "${server}" cannot go on: ${read.refused}.`);
  });
  const answers = questions.map(async ([key, question], index) => {
    const expires = answerTimeoutMs === undefined ? {} : { expiresInMs: answerTimeoutMs };
    const answer = await context.ask({ ...question, ...expires, name: `question-${before + index + 1}` });
    return [key, elicitResult(question, answer)] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}
