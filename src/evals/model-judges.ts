/**
 * Judges that ask a model, and tool results simulated by a model.
 *
 * A model's verdict is only useful if it agrees with people. So these scores are only reported unless `atLeast` is set, and the
 * report shows how often the judge agrees with people's labels. A model may also give no verdict: see `no-verdict.ts`.
 */

import { anObject, anyValue, checkOptions, nonEmptyString, type OptionTable, required } from "../check-options.js";
import { isJsonObject } from "../core/data/is-object.js";
import type { Json } from "../core/data/message.js";
import type { JsonSchema } from "../ports/model.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { Judge, JudgedTrial } from "./judges.js";
import { NoVerdictError } from "./no-verdict.js";
import { toKey } from "./read-record.js";
import type { Simulation } from "./recorded-tools.js";
import type { AskModel } from "./trial.js";

/** Options of `rubric`. */
export type RubricOptions = {
  /** The name of the judge. Default: `rubric`. */
  readonly name?: string;
  /** The agent that judges. It should use a different model from the agent under test. */
  readonly agent: HandoffAgent;
  /** The criteria for a good answer, and how to score it. */
  readonly rubric: string;
  /** The lowest score that passes. Default: null, which only reports the score. */
  readonly atLeast?: number | null;
};

const rubricRules: OptionTable<RubricOptions> = {
  name: nonEmptyString,
  agent: required(anObject),
  rubric: required(nonEmptyString),
  atLeast: anyValue,
};

const rubricSchema: JsonSchema = {
  type: "object",
  properties: {
    why: { type: "string", description: "The reason of the score, in one sentence." },
    score: { type: "number", minimum: 0, maximum: 1, description: "From 0, worst, to 1, best." },
  },
  required: ["why", "score"],
  additionalProperties: false,
};

/** Has a model score the trial by a rubric, from 0 to 1. If `atLeast` is set, a missing score fails the trial. */
export function rubric(options: RubricOptions): Judge {
  checkOptions("rubric()", rubricRules, options);
  const { name = "rubric", agent, rubric: text, atLeast = null } = options;
  return {
    name,
    atLeast,
    isCompared: true,
    async judge(trial, { ask }) {
      const verdict = await ask(agent, `${text}\n\n${quote("trial", describeTrial(trial))}`, rubricSchema);
      if (!isJsonObject(verdict) || typeof verdict.score !== "number") throw toNoVerdict(verdict);
      const score = Math.min(1, Math.max(0, verdict.score));
      return typeof verdict.why === "string" ? { score, why: verdict.why } : { score };
    },
  };
}

/** The trial as shown to the judge, including the complaint if a person labelled the recorded answer as bad. */
function describeTrial({ input, calls, output, expected, case: { label } }: JudgedTrial): Json {
  const isBad = label?.good === false;
  return {
    request: input,
    calls: calls.map((call) => ({ tool: call.tool, input: call.input, outcome: call.outcome })),
    answer: output,
    ...(expected === undefined || isBad ? {} : { referenceAnswer: expected }),
    ...(isBad && label.note !== undefined ? { complaintAboutEarlierAnswer: label.note } : {}),
  };
}

/** Options of `prefers`. */
export type PrefersOptions = Omit<RubricOptions, "atLeast"> & {
  /** The lowest score that passes: 1 if the current answer is better, 0.5 for a tie. Default: null, which only reports the score. */
  readonly atLeast?: number | null;
};

const preferenceSchema: JsonSchema = {
  type: "object",
  properties: {
    why: { type: "string", description: "The reason, in one sentence." },
    better: { type: "string", enum: ["first", "second", "neither"] },
  },
  required: ["why", "better"],
  additionalProperties: false,
};

/**
 * Has a model compare the answer with the recorded one. The model is asked twice, with the answers in both orders, because models
 * are biased by position. An answer is better only if both verdicts agree.
 */
export function prefers(options: PrefersOptions): Judge {
  checkOptions<RubricOptions>("prefers()", rubricRules, options);
  const { name = "prefers", agent, rubric: text, atLeast = null } = options;

  async function askWhich(ask: AskModel, input: string, first: Json, second: Json) {
    const pair = quote("answers", { request: input, first, second });
    const verdict = await ask(agent, `${text}\n\nWhich answer is better?\n\n${pair}`, preferenceSchema);
    if (!isJsonObject(verdict)) throw toNoVerdict(verdict);
    return { better: verdict.better, why: typeof verdict.why === "string" ? verdict.why : "" };
  }

  return {
    name,
    atLeast,
    async judge({ input, output, expected }, { ask }) {
      if (expected === undefined) return null;
      const one = await askWhich(ask, input, output, expected);
      const other = await askWhich(ask, input, expected, output);
      if (one.better === "first" && other.better === "second") return { score: 1, why: one.why };
      if (one.better === "second" && other.better === "first") return { score: 0, why: one.why };
      return { score: 0.5, why: "The two verdicts do not agree, or neither answer is better." };
    },
  };
}

/** Options of `simulated`. */
export type SimulatedOptions = {
  /** A description of the world that the tool reads, for the agent. Default: none. */
  readonly about?: string;
};

const simulatedRules: OptionTable<SimulatedOptions> = { about: nonEmptyString };

/** The number of recorded calls shown to the agent. */
const maxExamples = 10;

/**
 * Has an agent simulate the results of a tool: `tools: { search: simulated(librarian) }`. The agent sees the tool and its recorded
 * results. A recorded call gets its recorded result. `never` and `costs` do not apply to such trials, because their results are
 * made up.
 */
export function simulated(agent: HandoffAgent, options: SimulatedOptions = {}): Simulation {
  checkOptions("simulated()", simulatedRules, options);
  return async (input: unknown, { tool, recorded, ask }) => {
    const known = recorded.find((call) => call.isError !== true && toKey(call.input) === toKey(input));
    if (known !== undefined) return known.output;
    const examples = recorded.slice(0, maxExamples).map((call) => ({
      input: call.input,
      result:
        call.output.type === "json" ? call.output.value : call.output.type === "text" ? call.output.text : "[files]",
    }));
    const about = options.about === undefined ? "" : `${options.about}\n\n`;
    const subject = { tool: tool.name, description: tool.description, examples, input: input as Json };
    return ask(
      agent,
      `${about}You stand in for a tool. Give only what the tool would return for this input, in the form of the examples.\n\n${quote("call", subject)}`,
    );
  };
}

function quote(name: string, value: Json): string {
  return `<${name}>\n${JSON.stringify(value, null, 1)}\n</${name}>`;
}

/** A run without a score fails because of the schema. An answer gets here only if a hook changed the schema. */
function toNoVerdict(answer: Json): NoVerdictError {
  return new NoVerdictError(`the agent that was asked answered ${JSON.stringify(answer)}`);
}
