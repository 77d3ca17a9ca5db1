/**
 * Asks people the questions of a server that outlive its requests, all of one reply at once.
 */
import type { Question, ToolContext } from "../../ports/tool.js";
import { maxQuestions, parseInputRequest, toElicitResult } from "./questions.js";

/** The answers to a server's questions, by the server's keys. */
export type InputResponses = { readonly [key: string]: unknown };

type AskingCall = {
  /** The server as messages name it. */
  readonly peer: string;
  /** How long a question is open. Without it, questions do not expire. */
  readonly answerTimeoutMs: number | undefined;
  readonly context: Pick<ToolContext, "ask">;
};

/**
 * If one of the questions cannot be asked, none is.
 * @param askedBefore the number of questions that the server has already asked in this call
 * @throws Error if a question cannot be asked, or if the server asks too many
 */
export async function collectAnswers(
  { peer, answerTimeoutMs, context }: AskingCall,
  requests: readonly (readonly [string, unknown])[],
  askedBefore: number,
): Promise<InputResponses> {
  if (askedBefore + requests.length > maxQuestions)
    throw new Error(`${peer} asks more than ${maxQuestions} questions in one call.`);
  const questions = requests.map(([key, one]): readonly [string, Question] => {
    const parsed = parseInputRequest(peer, one);
    if ("question" in parsed) return [key, parsed.question];
    throw new Error(`${peer} cannot go on: ${parsed.refused}.`);
  });
  const answers = questions.map(async ([key, question], index) => {
    const expires = answerTimeoutMs === undefined ? {} : { expiresInMs: answerTimeoutMs };
    const answer = await context.ask({ ...question, ...expires, name: `question-${askedBefore + index + 1}` });
    return [key, toElicitResult(question, answer)] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}
