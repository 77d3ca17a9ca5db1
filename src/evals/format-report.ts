/**
 * Formats a report as text and as JUnit XML, and derives the exit code.
 *
 * 1. The exit code, the text and the XML agree, because all three are derived from `findFailures`.
 * 2. A baseline decides only if it has enough cases in common with the report. Otherwise any failed trial fails the eval, as
 *    without a baseline: a failing eval must not pass because its report was saved.
 */
import { aBoolean, checkOptions, integerFrom, type OptionTable } from "../check-options.js";
import type { Agreement, Report, TrialReport, VariantReport } from "./report.js";
import { countNeededCases, type ScoreChange } from "./statistics.js";

/** Options of `toExitCode`. */
export type ExitCodeOptions = {
  /** Whether a case that passed in the baseline and fails now is enough to fail, even if that may be chance. Default: false. */
  readonly strict?: boolean;
};

const exitCodeRules: OptionTable<ExitCodeOptions> = { strict: aBoolean };

/**
 * Returns the exit code of `pawl eval`. 0: every trial passed or, with a baseline that has enough cases, nothing is worse beyond
 * chance. 5: a trial failed, a rule was broken, or scores are worse. 4: trials were omitted because of the budget.
 */
export function toExitCode(report: Report, options: ExitCodeOptions = {}): 0 | 4 | 5 {
  checkOptions("toExitCode()", exitCodeRules, options);
  const { strict = false } = options;
  if (Object.values(report.variants).some((variant) => findFailures(variant, report, strict).length > 0)) return 5;
  return report.leftOut > 0 ? 4 : 0;
}

/** Why a variant fails the eval; empty if it does not. */
function findFailures(variant: VariantReport, { hasBaseline }: Report, strict: boolean): readonly string[] {
  const { broken, worse, newlyFailing, passed, trials } = variant;
  const isCompared = hasBaseline && countMissingCases(variant) === 0;
  const failures: string[] = [];
  if (broken.length > 0) failures.push(`${broken.join(" and ")} broken`);
  if (!isCompared && passed < trials) failures.push(`${trials - passed} of ${formatCount(trials, "trial")} failed`);
  if (isCompared && worse.length > 0) failures.push(`worse by ${worse.join(" and ")}`);
  if (hasBaseline && strict && newlyFailing.length > 0)
    failures.push(`${formatCount(newlyFailing.length, "case")} passed in the baseline`);
  return failures;
}

/** How many more cases a comparison needs before any judge can be worse beyond chance. */
function countMissingCases({ changes }: VariantReport): number {
  return Math.max(0, countNeededCases(Object.keys(changes).length) - countComparedCases(changes));
}

function countComparedCases(changes: VariantReport["changes"]): number {
  return Math.max(0, ...Object.values(changes).map((change) => change.cases));
}

/** Options of `formatReport`. */
export type FormatReportOptions = {
  /** The maximum number of failing trials listed for a variant. Default: 10. */
  readonly maxTrials?: number;
  /** As in `toExitCode`: affects the last line, which gives the verdict. Default: false. */
  readonly strict?: boolean;
};

const formatRules: OptionTable<FormatReportOptions> = { maxTrials: integerFrom(0), strict: aBoolean };

/** Formats the report for a terminal or a log. */
export function formatReport(report: Report, options: FormatReportOptions = {}): string {
  checkOptions("formatReport()", formatRules, options);
  const { maxTrials = 10, strict = false } = options;
  const lines = [
    `${report.name}: ${formatCount(report.trials.length, "trial")} in ${(report.durationMs / 1000).toFixed(1)} s`,
  ];
  for (const [name, variant] of Object.entries(report.variants)) {
    const cost = variant.costUsd === undefined ? "" : `, worth ${formatDollars(variant.costUsd)}`;
    lines.push(`${name}: ${variant.passed} of ${variant.trials} passed${cost}${formatComparison(report, name)}`);
    lines.push(...formatScores(variant), ...formatNoVerdicts(variant));
    const failing = report.trials.filter((trial) => trial.variant === name && !trial.passed);
    for (const trial of failing.slice(0, maxTrials)) lines.push(`  ✗ ${formatName(trial)}: ${findReason(trial)}`);
    if (failing.length > maxTrials) lines.push(`  … and ${failing.length - maxTrials} more`);
  }
  for (const [judge, agreement] of Object.entries(report.agreement)) lines.push(formatAgreement(judge, agreement));
  lines.push(
    `Paid ${formatDollars(report.paidUsd)} for ${formatCount(report.asked, "model call")}; ${formatCount(report.kept, "answer")} kept from before.`,
  );
  if (report.asked === 0 && report.kept > 0 && report.trials.some(({ passed }) => !passed))
    lines.push("All answers were kept from before; pawl eval --fresh asks the models again.");
  if (report.unpriced > 0)
    lines.push(
      `${formatCount(report.unpriced, "model call")} had no known price and are not part of the sum or the budget.`,
    );
  if (report.leftOut > 0) lines.push(`${formatCount(report.leftOut, "trial")} omitted because of the budget.`);
  lines.push(...formatTooFew(report), formatOutcome(report, strict));
  return `${lines.join("\n")}\n`;
}

/** Explains why the baseline does not decide: with few cases, no comparison can fail. */
function formatTooFew({ variants, hasBaseline }: Report): readonly string[] {
  const short = hasBaseline ? Object.values(variants).find((variant) => countMissingCases(variant) > 0) : undefined;
  if (short === undefined) return [];
  const cases = countComparedCases(short.changes);
  return [
    `${formatCount(cases, "case")} in common with the baseline cannot show more than chance: at least ${cases + countMissingCases(short)} are needed. Until then, any failed trial fails.`,
  ];
}

/** The exit code of `toExitCode`, in words. */
function formatOutcome(report: Report, strict: boolean): string {
  const code = toExitCode(report, { strict });
  if (code === 4) return "Incomplete: run it again with a larger budget. Answers that were already paid for are kept.";
  const allPassed = Object.values(report.variants).every(({ passed, trials }) => passed === trials);
  if (code === 0) return allPassed ? "Passed." : "Not worse than the baseline.";
  const names = Object.keys(report.variants);
  const reasons = Object.entries(report.variants).flatMap(([name, variant]) => {
    const found = findFailures(variant, report, strict);
    return found.length === 0 ? [] : [`${names.length > 1 ? `${name}: ` : ""}${found.join(", ")}`];
  });
  return `Failed: ${reasons.join("; ")}.`;
}

/** Names the baseline or variant that a variant's scores are compared with. */
function formatComparison({ variants, hasBaseline }: Report, name: string): string {
  if (Object.keys(variants[name]?.changes ?? {}).length === 0) return "";
  return `, compared with ${hasBaseline ? "the baseline" : Object.keys(variants)[0]}`;
}

function formatScores({ scores, changes, worse, broken }: VariantReport): readonly string[] {
  const judges = Object.keys(scores);
  const width = Math.max(0, ...judges.map((judge) => judge.length));
  return judges.map((judge) => {
    const change = changes[judge];
    const compared = change === undefined ? "" : formatChange(change);
    const verdict = broken.includes(judge) ? "  BROKEN" : worse.includes(judge) ? "  WORSE" : "";
    return `  ${judge.padEnd(width)} ${formatPercent(scores[judge] ?? 0).padStart(6)}${compared}${verdict}`;
  });
}

/** No verdict is not a good verdict, so these judges are listed. Reports of version 0.1 lack them. */
function formatNoVerdicts({ noVerdicts = {}, trials }: VariantReport): readonly string[] {
  return Object.entries(noVerdicts).map(([judge, { trials: count, why, reasons }]) => {
    const others = reasons > 1 ? `, and ${formatCount(reasons - 1, "other reason")}` : "";
    return `  ! ${judge} gave no verdict on ${count} of ${formatCount(trials, "trial")}: ${clip(why)}${others}`;
  });
}

function formatAgreement(judge: string, { labels, agreed, tooStrict, tooKind, noVerdict }: Agreement): string {
  const without = noVerdict > 0 ? `, no verdict ${formatTimes(noVerdict)}` : "";
  return `${judge} agrees with ${agreed} of ${formatCount(labels, "label")}: too strict ${formatTimes(tooStrict)}, too kind ${formatTimes(tooKind)}${without}`;
}

/** Formats a change, with its interval in percentage points. */
function formatChange({ before, low, high, worse, better }: ScoreChange): string {
  if (worse === 0 && better === 0) return "  unchanged";
  return `  was ${formatPercent(before)} (${formatSigned(low)} to ${formatSigned(high)}): ${worse} worse, ${better} better`;
}

/** `refund`, or `refund#2` for the second repetition. */
export function formatName({ case: name, repetition }: TrialReport): string {
  return repetition > 1 ? `${name}#${repetition}` : name;
}

/** Why a trial failed, in one line. */
export function findReason({ scores, departure, status, reason }: TrialReport): string {
  if (departure !== undefined) return clip(departure);
  const [failed] = Object.entries(scores).filter(([, { passed }]) => passed === false);
  if (failed === undefined) return clip(reason === undefined ? status : `${status} (${reason})`);
  const [judge, { why, score }] = failed;
  return clip(`${judge}: ${why ?? `scored ${score}`}`);
}

const maxReasonCharacters = 200;

function clip(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length <= maxReasonCharacters ? line : `${line.slice(0, maxReasonCharacters - 1)}…`;
}

function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function formatTimes(number: number): string {
  return number === 1 ? "once" : `${number} times`;
}

function formatDollars(usd: number): string {
  return `$${usd.toFixed(4)}`;
}

function formatPercent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

function formatSigned(share: number): string {
  return `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)}`;
}

/**
 * Formats reports as JUnit XML for build servers. Variants become suites, and trials become test cases. The output of a test case
 * names the judges that gave no verdict.
 *
 * The file has failures if and only if the exit code is 5, and errors if it is 4. A failed trial that does not fail the eval,
 * because the variant is not worse than the baseline, becomes a skipped test.
 *
 * @param options as in `toExitCode`
 */
export function formatJunit(reports: Report | readonly Report[], options: ExitCodeOptions = {}): string {
  checkOptions("formatJunit()", exitCodeRules, options);
  const { strict = false } = options;
  const suites = (isList(reports) ? reports : [reports]).flatMap((report) => [
    ...Object.entries(report.variants).map(([name, variant]) =>
      formatSuite(`${report.name}.${name}`, listTests(report, name, findFailures(variant, report, strict))),
    ),
    ...(report.leftOut === 0
      ? []
      : [
          formatSuite(report.name, [
            {
              name: "budget",
              seconds: 0,
              error: `${formatCount(report.leftOut, "trial")} omitted because of the budget.`,
            },
          ]),
        ]),
  ]);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("\n")}\n</testsuites>\n`;
}

function isList(reports: Report | readonly Report[]): reports is readonly Report[] {
  return Array.isArray(reports);
}

type JunitTest = {
  readonly name: string;
  readonly seconds: number;
  readonly failure?: string;
  readonly skipped?: string;
  readonly error?: string;
  readonly output?: string;
};

/** @param failures why the variant fails; empty if it does not */
function listTests(report: Report, variant: string, failures: readonly string[]): readonly JunitTest[] {
  const own = report.trials.filter((trial) => trial.variant === variant);
  const tests = own.map((trial): JunitTest => {
    const notes = Object.entries(trial.noVerdict ?? {}).map(([judge, why]) => `${judge}: ${clip(why)}`);
    const reason = findReason(trial);
    return {
      name: formatName(trial),
      seconds: trial.durationMs / 1000,
      ...(notes.length === 0 ? {} : { output: notes.join("\n") }),
      ...(trial.passed
        ? {}
        : failures.length > 0
          ? { failure: reason }
          : { skipped: `Failed, but the eval is not worse than the baseline: ${reason}` }),
    };
  });
  // A judge that only reports scores can be worse even though every trial passed.
  if (failures.length === 0 || own.some(({ passed }) => !passed)) return tests;
  return [...tests, { name: "all trials", seconds: 0, failure: failures.join(", ") }];
}

function formatSuite(name: string, tests: readonly JunitTest[]): string {
  const suite = escapeXml(name);
  const count = (kind: "failure" | "error" | "skipped") => tests.filter((test) => test[kind] !== undefined).length;
  const lines = tests.map(({ name: test, seconds, output, ...results }) => {
    const open = `    <testcase classname="${suite}" name="${escapeXml(test)}" time="${seconds.toFixed(3)}"`;
    const inner = (["failure", "error", "skipped"] as const).flatMap((kind) => {
      const message = results[kind];
      return message === undefined ? [] : [`<${kind} message="${escapeXml(message)}"/>`];
    });
    if (output !== undefined) inner.push(`<system-out>${escapeXml(output)}</system-out>`);
    return inner.length === 0 ? `${open}/>` : `${open}>${inner.join("")}</testcase>`;
  });
  const counts = `tests="${tests.length}" failures="${count("failure")}" errors="${count("error")}" skipped="${count("skipped")}"`;
  return `  <testsuite name="${suite}" ${counts}>\n${lines.join("\n")}\n  </testsuite>`;
}

function escapeXml(text: string): string {
  // XML 1.0 forbids control characters, lone surrogates, U+FFFE and U+FFFF in any form.
  const valid = text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "?");
  return valid.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
