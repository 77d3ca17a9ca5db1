/**
 * `pawl/testing`: a model that says what a test wrote down, a clock that a test owns, the suite that every store passes, and a crash
 * kit for agents of your own.
 */
export type { Respond } from "./crash/attend.js";
export { checkSession } from "./crash/check-session.js";
export {
  CrashFailure,
  type CrashPlay,
  type CrashReport,
  type CrashTestOptions,
  crashTest,
} from "./crash-test.js";
export { KillFailure, type KillPlay, type KillReport, type KillTestOptions, killTest } from "./kill-test.js";
export {
  createScriptedModel,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
} from "./scripted-model.js";
export { type ConformanceCase, type StoreUnderTest, storeConformance } from "./store-conformance.js";
export { createTestClock, settled, type TestClock } from "./test-clock.js";
export { InvariantBroken } from "./world/invariants.js";
