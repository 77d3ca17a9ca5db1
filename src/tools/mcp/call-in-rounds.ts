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
import { getErrorMessage } from "../../core/data/error-message.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { ToolContext } from "../../ports/tool.js";
import { collectAnswers, type InputResponses } from "./collect-answers.js";
import { followTask } from "./follow-task.js";
import { askForLogin } from "./login/ask-for-login.js";
import { findLoginPage, type LoginPage } from "./login/remote-login.js";
import { checkInputRequests } from "./questions.js";
import type { Task, TaskMethods } from "./tasks.js";
import type { ListedTool } from "./tool-list.js";
import { maxKeptCharacters, toToolOutput } from "./tool-output.js";

/** The server's reply: a result, a task that will have the result, or the inputs that it needs first. */
export type Reply =
  | { readonly type: "result"; readonly result: CallToolResult }
  | { readonly type: "task"; readonly task: Task }
  | { readonly type: "asks"; readonly requests: { readonly [key: string]: unknown }; readonly state?: string }
  /**
   * The server refused the request: a person has to log in on this page first. `next` is the refused request, if it is not the first one of
   * the round: the server has answered that one with its state, so it must not be sent again.
   */
  | ({ readonly type: "login"; readonly next?: Continuation } & LoginPage);

/** The additional parameters of a request after the first. */
export type Continuation = {
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
};

/** @throws Error if the server gives no result */
export type Send = (continuation: Continuation, signal: AbortSignal) => Promise<Reply>;

/** A reply as its tool step keeps it. */
type StoredReply = Reply | { readonly type: "large" } | { readonly type: "failed"; readonly message: string };

type RoundsCall = {
  /** The server as messages name it. */
  readonly peer: string;
  readonly send: Send;
  readonly tasks: TaskMethods<CallToolResult>;
  /** The schema of the structured content, if the tool has one. */
  readonly outputSchema: ListedTool["outputSchema"];
  /** The call changes nothing, so a request may be repeated. */
  readonly readOnly: boolean;
  /** How long a question is open. Without it, questions do not expire. */
  readonly answerTimeoutMs: number | undefined;
  readonly context: Pick<ToolContext, "step" | "ask" | "sleep" | "progress" | "signal">;
};

const maxRounds = 10;
const maxStateCharacters = 262_144;
/** Before a server that asks nothing, but is not ready, is called again. */
const pauseMs = 250;

/** @throws Error if the server gives no result, or asks what cannot be asked */
export async function callInRounds(call: RoundsCall): Promise<ToolOutput> {
  const { peer } = call;
  const startedAt = performance.now();
  let continuation: Continuation = {};
  let askedCount = 0;
  for (let round = 1; round <= maxRounds; round += 1) {
    const reply = await sendRound(call, round, continuation);
    if (reply.type === "result") return toToolOutput(reply.result, call.outputSchema);
    if (reply.type === "task")
      return toToolOutput(await followTask({ ...call, startedAt }, reply.task, askedCount), call.outputSchema);
    if (reply.type === "login") {
      // The server has not begun the refused request, so the next round repeats it.
      await askForLogin(peer, reply, `login-${round}`, call);
      continuation = reply.next ?? continuation;
      continue;
    }
    const requests = Object.entries(reply.requests);
    const inputResponses = await collectAnswers(call, requests, askedCount);
    askedCount += requests.length;
    continuation = {
      ...(requests.length === 0 ? {} : { inputResponses }),
      ...(reply.state === undefined ? {} : { requestState: reply.state }),
    };
  }
  throw new Error(`${peer} gave no result after ${maxRounds} rounds of questions.`);
}

async function sendRound(
  { peer, send, readOnly, context }: RoundsCall,
  round: number,
  continuation: Continuation,
): Promise<Reply> {
  let largeReply: Reply | undefined;
  const name = round === 1 ? "call" : `call-${round}`;
  // The MCP library has parsed the reply from JSON.
  const run = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
    const reply = checkReply(peer, await sendUntilReady(send, continuation, signal));
    if (reply.type !== "result" || JSON.stringify(reply.result).length <= maxKeptCharacters) return reply;
    largeReply = reply;
    return { type: "large" };
  };
  const stored = (await context.step(name, run, { once: !readOnly })) as StoredReply;
  if (stored.type === "failed") throw new Error(stored.message);
  if (stored.type !== "large") return stored as Reply;
  if (largeReply !== undefined) return largeReply;
  throw new Error(`${peer} had given its result, and the process died before it was kept. The call is not repeated.`);
}

type UnstoredReply = Reply | Extract<StoredReply, { type: "failed" }>;

/** Checks the server's questions before a step stores them. */
function checkReply(peer: string, reply: UnstoredReply): UnstoredReply {
  const state = reply.type === "asks" ? reply.state : reply.type === "login" ? reply.next?.requestState : undefined;
  if ((state?.length ?? 0) > maxStateCharacters)
    return {
      type: "failed",
      message: `${peer} sends more state than ${maxStateCharacters} characters.`,
    };
  if (reply.type !== "asks") return reply;
  const checked = checkInputRequests(peer, reply.requests);
  if ("refused" in checked) return { type: "failed", message: checked.refused };
  return { ...reply, requests: checked.requests };
}

/** A server that is not ready may answer with its state only. It is called again with it. */
async function sendUntilReady(send: Send, continuation: Continuation, signal: AbortSignal): Promise<UnstoredReply> {
  let next: Continuation | undefined;
  try {
    let reply = await send(continuation, signal);
    for (let attempt = 1; attempt < maxRounds && isNotReady(reply); attempt += 1) {
      next = reply.state === undefined ? {} : { requestState: reply.state };
      await sleep(pauseMs, undefined, { signal });
      reply = await send(next, signal);
    }
    return reply;
  } catch (error) {
    if (signal.aborted) throw error;
    const loginPage = findLoginPage(error);
    if (loginPage !== null) return { type: "login", ...loginPage, ...(next === undefined ? {} : { next }) };
    return { type: "failed", message: getErrorMessage(error) };
  }
}

function isNotReady(reply: Reply): reply is Extract<Reply, { type: "asks" }> {
  return reply.type === "asks" && Object.keys(reply.requests).length === 0;
}
