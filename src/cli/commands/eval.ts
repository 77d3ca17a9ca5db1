/**
 * `pawl eval`: plays the evals of a folder.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as ownEvals from "../../evals/index.js";
import { PawlError, type Store } from "../../index.js";
import { exitCodes } from "../exit.js";
import { toFileName, writeEvalReport } from "../files/eval-reports.js";
import { explainLoadFailure } from "../files/explain-load-failure.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize, truncate, widthOf, wrapWords } from "../terminal/text.js";
import { watchFolder } from "./eval-watch.js";

export type EvalCommandOptions = {
  readonly play?: "run" | "steps";
  readonly repeat?: number;
  readonly concurrency?: number;
  readonly budget?: number;
  readonly offline?: true;
  readonly fresh?: true;
  readonly case?: readonly string[];
  readonly baseline?: string;
  readonly save?: string;
  readonly junit?: string;
  readonly strict?: true;
  readonly keepLogs?: true;
  readonly watch?: true;
  readonly json?: true;
};

type Evals = typeof ownEvals;
type Report = ownEvals.Report;

/** Paid answers, which are not redacted and do not belong in the repository. */
const answersFile = ".pawl/evals/answers.jsonl";

export async function evalFiles(
  given: readonly string[],
  options: EvalCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const files = given.length > 0 ? given : findEvalFiles();
  if (files.length === 0)
    throw new PawlError(
      "bad_input",
      "There is no *.eval.ts or *.eval.js under evals. Write one as docs/guide/evals.md shows, or name a file: pawl eval FILE.",
    );
  checkOutputs(files, options);
  if (options.watch === true) return watchFolder(process.cwd(), terminal);
  const interruptions = listenForInterruptions(terminal);
  const stop = AbortSignal.any([interruptions.stop, interruptions.shutdown]);
  const store = options.keepLogs === true ? await openStore(resolveHome(process.env), { creates: true }) : null;
  try {
    const reports: Report[] = [];
    let code: number = exitCodes.done;
    for (const file of files) {
      const report = await evalFile(file, { options, store, stop, terminal });
      reports.push(report);
      code = worseOf(code, ownEvals.toExitCode(report, { strict: options.strict === true }));
    }
    const { junit, strict = false } = options;
    if (junit !== undefined) {
      writeText(junit, ownEvals.formatJunit(reports, { strict }));
      terminal.err(`Wrote ${sanitize(junit)}.\n`);
    }
    return code;
  } catch (error) {
    if (!stop.aborted) throw error;
    terminal.err("Stopped. Paid answers are kept: the same command continues without paying for them again.\n");
    return exitCodes.aborted;
  } finally {
    await store?.close();
  }
}

function findEvalFiles(): readonly string[] {
  if (!existsSync("evals")) return [];
  return readdirSync("evals", { recursive: true })
    .map(String)
    .filter((file) => /\.eval\.m?[jt]s$/.test(file) && !/(?:^|[\\/])node_modules[\\/]/.test(file))
    .sort()
    .map((file) => join("evals", file));
}

/** A file holds the report of one eval. JUnit XML may hold several. */
function checkOutputs(files: readonly string[], { save, baseline }: EvalCommandOptions): void {
  if (files.length === 1) return;
  const named = [
    ...(save !== undefined && save !== "baseline" ? ["--save"] : []),
    ...(baseline === undefined ? [] : ["--baseline"]),
  ];
  if (named.length > 0)
    throw new PawlError(
      "bad_input",
      `${named.join(" and ")} needs a single eval, but there are ${files.length}. Name one eval file.`,
    );
}

/** Failures outrank trials omitted because of the budget. */
function worseOf(code: number, other: number): number {
  return Math.max(code, other);
}

type EvalRun = {
  readonly options: EvalCommandOptions;
  readonly store: Store | null;
  readonly stop: AbortSignal;
  readonly terminal: Terminal;
};

async function evalFile(file: string, { options, store, stop, terminal }: EvalRun): Promise<Report> {
  const evals = await loadEvals(file);
  const defined = await loadEval(file);
  const folder = dirname(file);
  const baselineFile = options.baseline ?? join(folder, "baseline", `${toFileName(defined.name)}.json`);
  const hasBaseline = options.baseline !== undefined || existsSync(baselineFile);
  const cases = chooseCases(
    typeof defined.cases === "string" ? evals.readCases(resolve(folder, defined.cases)) : defined.cases,
    options.case ?? [],
  );
  let failed = 0;
  const report = await evals.evaluate({
    ...defined,
    answers: openAnswers(evals, defined.answers ?? answersFile, options.fresh === true),
    cases,
    signal: stop,
    ...(hasBaseline && options.save !== "baseline" ? { baseline: baselineFile } : {}),
    ...(store === null ? {} : { store }),
    ...(options.budget === undefined ? {} : { budgetUsd: options.budget }),
    ...(options.offline === undefined ? {} : { budgetUsd: 0 }),
    ...(options.repeat === undefined ? {} : { repeat: options.repeat }),
    ...(options.play === undefined ? {} : { play: options.play }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    onTrial(trial, progress) {
      if (trial?.passed === false) failed += 1;
      terminal.status(truncate(formatProgress(defined.name, progress, failed), terminal.columns()));
      defined.onTrial?.(trial, progress);
    },
  });
  terminal.status(null);
  const strict = options.strict === true;
  const saved = saveReport(report, options, baselineFile);
  if (options.json === true) terminal.json({ ...report, exitCode: ownEvals.toExitCode(report, { strict }) });
  else terminal.out(visibleLines(terminal.redaction.text(ownEvals.formatReport(report, { strict })), terminal));
  if (saved !== null) terminal.err(`Wrote ${sanitize(saved)}.\n`);
  return report;
}

/**
 * Removes control characters that a model may have written. On a terminal, long lines are wrapped between words, with an
 * indent that keeps the list of failing trials readable; elsewhere a line stays whole for the programs that read it.
 */
function visibleLines(text: string, { isOutLive, columns }: Terminal): string {
  const lines = text.split("\n").map((line) => sanitize(line));
  if (!isOutLive) return lines.join("\n");
  const width = columns();
  const wrap = (line: string) =>
    widthOf(line) <= width ? line : wrapWords(line, width - indent.length + 1).join(indent);
  return lines.map(wrap).join("\n");
}

const indent = "\n    ";

function formatProgress(name: string, { done, total, paidUsd }: ownEvals.EvalProgress, failed: number): string {
  const failures = failed === 0 ? "" : `, ${failed} failed`;
  return `${sanitize(name)}: ${done} of ${formatCount(total, "trial")}${failures}, $${paidUsd.toFixed(4)} paid`;
}

/** The library as the eval file imports it: its agents belong to that copy, which may differ from this program's. */
async function loadEvals(file: string): Promise<Evals> {
  let path: string;
  try {
    path = createRequire(resolve(file)).resolve("pawl/evals");
  } catch {
    return ownEvals;
  }
  return (await import(pathToFileURL(path).href)) as Evals;
}

async function loadEval(file: string): Promise<ownEvals.EvalOptions> {
  if (!existsSync(file))
    throw new PawlError("bad_input", `There is no file ${sanitize(file)}. Name an eval: pawl eval evals/desk.eval.ts.`);
  let loaded: { readonly default?: ownEvals.EvalOptions };
  try {
    loaded = (await import(pathToFileURL(resolve(file)).href)) as typeof loaded;
  } catch (cause) {
    throw new PawlError("bad_input", explainLoadFailure(file, cause), { cause });
  }
  if (typeof loaded.default?.name === "string") return loaded.default;
  throw new PawlError(
    "bad_input",
    `${sanitize(file)} does not export an eval. End it with: export default defineEval({ … }).`,
  );
}

/** With `isFresh`, the answers of this run replace those of earlier runs, and are shared between variants. */
function openAnswers(
  { openAnswers: open }: Evals,
  answers: string | ownEvals.KeptAnswers,
  isFresh: boolean,
): ownEvals.KeptAnswers {
  const kept = typeof answers === "string" ? open(answers) : answers;
  if (!isFresh) return kept;
  const { get, add } = open();
  return {
    get,
    add(key, deltas) {
      add(key, deltas);
      kept.add(key, deltas);
    },
  };
}

function chooseCases(cases: readonly ownEvals.EvalCase[], wanted: readonly string[]): readonly ownEvals.EvalCase[] {
  if (wanted.length === 0) return cases;
  const chosen = cases.filter(({ name, tags = [] }) => wanted.some((one) => one === name || tags.includes(one)));
  if (chosen.length > 0) return chosen;
  throw new PawlError(
    "bad_input",
    `No case has the name or tag ${wanted.map((one) => JSON.stringify(one)).join(" or ")}. The first cases are: ${cases
      .slice(0, 5)
      .map(({ name }) => name)
      .join(", ")}.`,
  );
}

/** Returns the file that `--save` wrote; null without `--save`. */
function saveReport(report: Report, { keepLogs, save }: EvalCommandOptions, baselineFile: string): string | null {
  if (keepLogs === true) writeEvalReport(resolveHome(process.env), report);
  if (save === undefined) return null;
  const path = save === "baseline" ? baselineFile : save;
  writeText(path, `${JSON.stringify(report)}\n`);
  return path;
}

export function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
