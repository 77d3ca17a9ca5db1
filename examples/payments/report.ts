/**
 * The results as a table, and the promises that did not hold.
 */
import type { Outcome } from "./campaign.js";
import { ways } from "./ways.js";

type Column = readonly [heading: string, value: (outcome: Outcome) => string | number];

const columns: readonly Column[] = [
  ["way", ({ way }) => way],
  ["runs done", ({ completed, runs }) => `${completed}/${runs}`],
  ["kills", ({ kills }) => kills],
  ["cut off", ({ cutOff }) => `${cutOff.before}+${cutOff.after}`],
  ["transfers", ({ ordered }) => ordered],
  ["once", ({ bookedOnce }) => bookedOnce],
  ["repeated", ({ repeated }) => repeated],
  ["lost", ({ lost }) => lost],
  ["unknown", ({ unknown }) => `${unknown.booked}+${unknown.notBooked}`],
  ["asked", ({ asked }) => `${asked.result}+${asked.rerun}`],
  ["balances", ({ balances }) => (balances ? "yes" : "no")],
  ["seconds", ({ seconds }) => seconds],
];

export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = [
    columns.map(([heading]) => heading),
    ...outcomes.map((outcome) => columns.map(([, value]) => String(value(outcome)))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [
    ...lines,
    "",
    "cut off: requests whose process died before the bank had booked them + after",
    "unknown: calls reported as interrupted, outcome unknown, that were booked + that were not",
    "asked:   questions to a person, answered with what the statement shows + with run it again",
  ].join("\n");
}

/** The results that contradict a promise. */
export function failuresOf(outcome: Outcome): readonly string[] {
  const may = ways.find(({ name }) => name === outcome.way)?.may;
  const { completed, runs, repeated, lost, foreign, falselyDone, damage, balances } = outcome;
  const exact = may?.repeat === false && may.lose === false;
  const checks: readonly (readonly [boolean, string])[] = [
    [completed === runs, `${runs - completed} runs were not completed`],
    [may?.repeat === true || repeated === 0, `${repeated} transfers were repeated`],
    [may?.lose === true || lost === 0, `${lost} transfers were lost`],
    [!exact || balances, "the ledger does not balance"],
    [foreign === 0, `${foreign} bookings were never ordered`],
    [falselyDone === 0, `${falselyDone} transfers were reported as done and were not`],
    [damage === 0, `the store found damage in ${damage} places`],
  ];
  return checks.flatMap(([holds, failure]) => (holds ? [] : [`${outcome.way}: ${failure}.`]));
}
