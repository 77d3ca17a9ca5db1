/**
 * `pawl/evals`: cases made from recorded sessions, played without outside effects, and judged.
 */
export { type Label, labelKey } from "../core/data/label.js";
export type { WorkerScores } from "../ports/worker-scores.js";
export { toScoreSessionId } from "../runtime/api/delete-session.js";
export type {
  AskedCall,
  CaseLabel,
  Ending,
  EvalCase,
  OutsideTool,
  RecordedAnswer,
  RecordedArrival,
  RecordedCall,
  RecordedSession,
  Turn,
  TurnOptions,
} from "./case.js";
export { type CaseOptions, createCase } from "./create-case.js";
export { defineEval, type EvalAgent, type EvalOptions, type EvalProgress } from "./eval-options.js";
export { evaluate } from "./evaluate.js";
export {
  type ExitCodeOptions,
  type FormatReportOptions,
  formatJunit,
  formatReport,
  toExitCode,
} from "./format-report.js";
export {
  type CostsOptions,
  calls,
  costs,
  inRecord,
  type Judge,
  type JudgedTrial,
  type JudgeFunction,
  never,
  type SameCallsOptions,
  sameAnswer,
  sameCalls,
  sameEnd,
  sameHooks,
  sameSteps,
  type Verdict,
} from "./judges.js";
export { type AnswerKey, type KeptAnswers, openAnswers } from "./kept-answers.js";
export {
  type PrefersOptions,
  prefers,
  type RubricOptions,
  rubric,
  type SimulatedOptions,
  simulated,
} from "./model-judges.js";
export {
  createScores,
  type OnlineJudge,
  type OnlineScore,
  type ScoreAlert,
  type ScoresOptions,
} from "./online-scores.js";
export { readCases } from "./read-cases.js";
export type { Unanswered } from "./recorded-people.js";
export type { SimulatedCall, Simulation, ToolAnswer, Unrecorded } from "./recorded-tools.js";
export type { Agreement, NoVerdicts, Report, Score, TrialReport, VariantReport } from "./report.js";
export type { ScoreChange } from "./statistics.js";
export type { AskModel, CallCounts, ComparedStep, Departure, ModelAnswer, ResultCounts, Trial } from "./trial.js";
