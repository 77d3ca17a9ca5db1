/**
 * Runs an eval: plays each case with each variant of the agent, and has the trials judged.
 */
import { readFileSync } from "node:fs";
import { parseJson } from "../core/data/json.js";
import { PawlError } from "../errors.js";
import { untilAborted } from "../platform/until-aborted.js";
import { listReachableTools } from "../runtime/api/build-agent.js";
import type { EvalCase } from "./case.js";
import { checkEvalOptions, type EvalAgent, type EvalOptions } from "./eval-options.js";
import { checkJudgeNames, normalizeJudge } from "./judges.js";
import { createTrialPlayer, type Variant } from "./play-variants.js";
import { checkCases, readCases } from "./read-cases.js";
import type { Report, TrialReport } from "./report.js";
import { summarizeVariant } from "./summarize.js";

/**
 * Plays cases and judges the trials. No tool runs unless `tools` says so. Nothing is written but the kept answers and, with
 * `store`, the logs of the trials.
 *
 * @throws PawlError `bad_configuration` for invalid options; `bad_input` if a case, the baseline or the file of answers cannot be
 *   read
 *
 * @example
 * ```ts
 * import { evaluate, formatReport, inRecord, sameCalls, sameEnd, toExitCode } from "pawl/evals";
 *
 * const report = await evaluate({ name: "desk", agent, cases: "evals/cases", judges: [sameEnd(), inRecord(), sameCalls()] });
 * console.log(formatReport(report));
 * process.exitCode = toExitCode(report);
 * ```
 */
export async function evaluate(options: EvalOptions): Promise<Report> {
  checkEvalOptions("evaluate()", options);
  const startedAt = performance.now();
  const { name, play = "run", repeat = 1, concurrency = 4, signal } = options;
  const cases = typeof options.cases === "string" ? readCases(options.cases) : checkCases(options.cases);
  if (cases.length === 0)
    throw new PawlError("bad_configuration", `The eval "${name}" has no cases. Make one with: pawl eval add SESSION.`);
  const judges = options.judges.map(normalizeJudge);
  checkJudgeNames(judges.map((judge) => judge.name));
  checkToolNames(options, cases);
  const variants = findVariants(options.agent);
  const given = typeof options.baseline === "string" ? readReport(options.baseline) : options.baseline;
  // Scores of single steps cannot be compared with scores of whole runs.
  const baseline = given?.play === play ? given : undefined;
  const playing = createTrialPlayer(options, variants);
  const queue = variants.flatMap(({ variant, agent }) =>
    cases.flatMap((one) =>
      Array.from({ length: repeat }, (_, index) => ({ variant, agent, case: one, repetition: index + 1 })),
    ),
  );
  const total = queue.length;
  const trials: TrialReport[] = [];
  let leftOut = 0;

  async function work(): Promise<void> {
    try {
      await playQueue();
    } catch (error) {
      // The other workers stop after the trials that they are playing.
      queue.length = 0;
      throw error;
    }
  }

  async function playQueue(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      signal?.throwIfAborted();
      const trial = await untilAborted(playing.play(next, judges), signal);
      if (trial === null) leftOut += 1;
      else trials.push(trial);
      options.onTrial?.(trial, { done: trials.length + leftOut, total, paidUsd: playing.totals.paidUsd });
    }
  }

  const ended = await Promise.allSettled(Array.from({ length: Math.min(concurrency, total) }, work));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  const agreement = await untilAborted(playing.compareJudges(judges, cases), signal);
  const order = new Map(queueOrder(variants, cases));
  trials.sort((one, other) => rank(one, order) - rank(other, order) || one.repetition - other.repetition);
  const reports = variants.map(({ variant }, index) => {
    const own = trials.filter((trial) => trial.variant === variant);
    const first = index === 0 ? [] : trials.filter((trial) => trial.variant === variants[0]?.variant);
    return [variant, summarizeVariant(own, findBaseline(baseline, variant) ?? first)] as const;
  });
  const { paidUsd, asked, kept, unpriced } = playing.totals;
  return {
    v: 1,
    name,
    play,
    trials,
    variants: Object.fromEntries(reports),
    hasBaseline: baseline !== undefined,
    agreement,
    paidUsd,
    asked,
    kept,
    unpriced,
    leftOut,
    durationMs: performance.now() - startedAt,
  };
}

function findVariants(given: EvalOptions["agent"]): readonly Variant[] {
  if (isAgent(given)) return [{ variant: "agent", agent: given }];
  const variants = Object.entries(given as { readonly [variant: string]: EvalAgent });
  const wrong = variants.find(([, agent]) => !isAgent(agent));
  if (variants.length === 0 || wrong !== undefined)
    throw new PawlError(
      "bad_configuration",
      `The option agent${wrong === undefined ? "" : `.${wrong[0]}`} is not an agent. Use an agent made by createAgent(), a function that returns one, or an object of several by name.`,
    );
  return variants.map(([variant, agent]) => ({ variant, agent }));
}

function isAgent(given: unknown): given is EvalAgent {
  if (typeof given === "function") return true;
  return typeof given === "object" && given !== null && "run" in given && "options" in given;
}

/** An unknown name would be ignored silently, and its calls would be answered from the record. */
function checkToolNames({ tools = {}, agent }: EvalOptions, cases: readonly EvalCase[]): void {
  const names = Object.keys(tools);
  if (names.length === 0) return;
  const known = new Set(
    cases.flatMap(({ calls = [], expected, outsideTools = [] }) => [
      ...[...calls, ...(expected?.calls ?? [])].map(({ tool }) => tool),
      ...outsideTools.map(({ specification }) => specification.name),
    ]),
  );
  for (const { agent: one } of findVariants(agent)) {
    if (typeof one === "function") return;
    for (const name of listReachableTools(one)) known.add(name);
  }
  const unknown = names.find((tool) => !known.has(tool));
  if (unknown !== undefined)
    throw new PawlError(
      "bad_configuration",
      `The option tools names ${JSON.stringify(unknown)}, but no agent under test has this tool, and no case calls it. Known tools: ${[...known].sort().join(", ") || "none"}.`,
    );
}

function readReport(path: string): Report {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new PawlError(
      "bad_input",
      `The baseline ${path} cannot be read. Write one with: pawl eval --save baseline.`,
      {
        cause,
      },
    );
  }
  const read = parseJson(text, { maxBytes: maxReportBytes });
  const report = read.ok ? (read.value as unknown as Partial<Report> | null) : null;
  if (report?.v !== 1 || !Array.isArray(report.trials))
    throw new PawlError(
      "bad_input",
      `${path} is not a report of this version of Pawl. Write a new one with: pawl eval --save baseline.`,
    );
  return report as Report;
}

const maxReportBytes = 256 * 1024 * 1024;

/** The baseline's trials of the same variant, or of its only variant; undefined without a baseline. */
function findBaseline(baseline: Report | undefined, variant: string): readonly TrialReport[] | undefined {
  if (baseline === undefined) return undefined;
  const isOnlyOne = new Set(baseline.trials.map((trial) => trial.variant)).size <= 1;
  return baseline.trials.filter((trial) => isOnlyOne || trial.variant === variant);
}

function queueOrder(variants: readonly Variant[], cases: readonly EvalCase[]): readonly (readonly [string, number])[] {
  return variants.flatMap(({ variant }, row) =>
    cases.map((one, index) => [`${variant}/${one.name}`, row * cases.length + index] as const),
  );
}

function rank({ variant, case: name }: TrialReport, order: ReadonlyMap<string, number>): number {
  return order.get(`${variant}/${name}`) ?? 0;
}
