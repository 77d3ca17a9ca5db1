/**
 * A report in words, as JUnit XML, and as an exit code.
 */
import { aBoolean, checkOptions, integerFrom, type OptionTable } from "../check-options.js";
import type { Report, TrialReport, VariantReport } from "./report.js";

/** What decides about an exit code. */
export type ExitCodeOptions = {
  /** Fails for each case that passes in the baseline and fails now, also if that may be chance. Default: false. */
  readonly strict?: boolean;
};

const exitCodeRules: OptionTable<ExitCodeOptions> = { strict: aBoolean };

/**
 * The exit code of `pawl eval`. 0: every trial passes or, with a baseline, nothing is worse beyond chance. 5: a trial fails, a rule is broken,
 * or something is worse. 4: the budget left trials out.
 */
export function toExitCode({ variants, leftOut, hasBaseline }: Report, options: ExitCodeOptions = {}): 0 | 4 | 5 {
  checkOptions("toExitCode()", exitCodeRules, options);
  const isBad = ({ broken, worse, newlyFailing, passed, trials }: VariantReport) => {
    if (broken.length > 0) return true;
    if (!hasBaseline) return passed < trials;
    return worse.length > 0 || (options.strict === true && newlyFailing.length > 0);
  };
  if (Object.values(variants).some(isBad)) return 5;
  return leftOut > 0 ? 4 : 0;
}

/** How much of a report is written. */
export type FormatReportOptions = {
  /** The most failing trials of a variant. Default: 10. */
  readonly maxTrials?: number;
};

const formatRules: OptionTable<FormatReportOptions> = { maxTrials: integerFrom(0) };

/** The report for a terminal or a log. */
export function formatReport(report: Report, options: FormatReportOptions = {}): string {
  checkOptions("formatReport()", formatRules, options);
  const { maxTrials = 10 } = options;
  const lines = [
    `${report.name}: ${count(report.trials.length, "trial")} in ${(report.durationMs / 1000).toFixed(1)} s`,
  ];
  for (const [name, variant] of Object.entries(report.variants)) {
    lines.push(`${name}: ${variant.passed} of ${variant.trials} passed, worth ${dollars(variant.costUsd)}`);
    lines.push(...formatScores(variant));
    const failing = report.trials.filter((trial) => trial.variant === name && !trial.passed);
    for (const trial of failing.slice(0, maxTrials)) lines.push(`  ✗ ${formatName(trial)}: ${findReason(trial)}`);
    if (failing.length > maxTrials) lines.push(`  … and ${failing.length - maxTrials} more`);
  }
  for (const [judge, { labels, agreed, tooStrict, tooKind }] of Object.entries(report.agreement))
    lines.push(
      `${judge} agrees with ${agreed} of ${count(labels, "label")}: too strict ${times(tooStrict)}, too kind ${times(tooKind)}`,
    );
  lines.push(
    `Paid ${dollars(report.paidUsd)} for ${count(report.asked, "model call")}; ${count(report.kept, "answer")} kept from before.`,
  );
  if (report.unpriced > 0)
    lines.push(`${count(report.unpriced, "model call")} had no price, so neither the sum nor the budget has them.`);
  if (report.leftOut > 0) lines.push(`The budget left ${count(report.leftOut, "trial")} out.`);
  return `${lines.join("\n")}\n`;
}

function formatScores({ scores, changes, worse, broken }: VariantReport): readonly string[] {
  const judges = Object.keys(scores);
  const width = Math.max(0, ...judges.map((judge) => judge.length));
  return judges.map((judge) => {
    const change = changes[judge];
    const compared =
      change === undefined
        ? ""
        : `  was ${percent(change.before)}, ${signed(change.low)} to ${signed(change.high)}, ${change.worse} worse, ${change.better} better`;
    const verdict = broken.includes(judge) ? "  BROKEN" : worse.includes(judge) ? "  WORSE" : "";
    return `  ${judge.padEnd(width)} ${percent(scores[judge] ?? 0).padStart(6)}${compared}${verdict}`;
  });
}

/** `refund`, and `refund#2` for its second repetition. */
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

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function times(number: number): string {
  return number === 1 ? "once" : `${number} times`;
}

function dollars(usd: number): string {
  return `$${usd.toFixed(4)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

function signed(share: number): string {
  return `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)}`;
}

/** The report as JUnit XML, which build servers show. A variant is a suite, and a trial a test case. */
export function formatJunit(report: Report): string {
  const suites = Object.entries(report.variants).map(([name, { passed, trials }]) => {
    const suite = escapeXml(`${report.name}.${name}`);
    const own = report.trials.filter((trial) => trial.variant === name);
    const cases = own.map((trial) => {
      const seconds = (trial.durationMs / 1000).toFixed(3);
      const open = `    <testcase classname="${suite}" name="${escapeXml(formatName(trial))}" time="${seconds}"`;
      return trial.passed ? `${open}/>` : `${open}><failure message="${escapeXml(findReason(trial))}"/></testcase>`;
    });
    return `  <testsuite name="${suite}" tests="${trials}" failures="${trials - passed}">\n${cases.join("\n")}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("\n")}\n</testsuites>\n`;
}

function escapeXml(text: string): string {
  // XML 1.0 cannot have control characters, lone surrogates, U+FFFE and U+FFFF in any form.
  const valid = text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "?");
  return valid.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
