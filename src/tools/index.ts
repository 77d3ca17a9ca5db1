/**
 * `pawl/tools`: tools for files, commands and the web, `defineTool` for your own, and files as context.
 */
export type {
  AiSdkSchema,
  AnyTool,
  InputSchema,
  Reconciled,
  RecoverOption,
  Tool,
  ToolContext,
  ToolOutput,
} from "../ports/tool.js";
export { askPerson } from "./ask-person.js";
export { createFileTools, type FileToolsOptions } from "./file-tools.js";
export { type FindFilesOptions, findFiles } from "./files/find-files.js";
export {
  type DefinedTool,
  defineTool,
  defineToolFor,
  type InputOf,
  type RawInputOf,
} from "./lib/define-tool.js";
export { type ReminderSession, type RemindMeOptions, remindMe } from "./remind-me.js";
export {
  type CommandReport,
  type CommandSandbox,
  createSandbox,
  detectSandbox,
  type HostTarget,
  type PreparedCommand,
  type PrepareOptions,
  type Refusal,
  type RefusalReason,
  type Sandbox,
  type SandboxOptions,
} from "./sandbox/sandbox.js";
export {
  type BackgroundCommand,
  type BackgroundOptions,
  type BackgroundProcess,
  type BackgroundProcesses,
  createBackgroundProcesses,
  type EarlierProcess,
} from "./shell/background-processes.js";
export type { ProcessFate } from "./shell/process-identity.js";
export { createShellTool, type ShellToolOptions } from "./shell/shell.js";
export type { ShellRequest } from "./shell/shell-sandbox.js";
export { type AgentsFileOptions, agentsFile } from "./sources/agents-file.js";
export { type SkillFolder, type SkillsOptions, skills } from "./sources/skills.js";
export { type TodoItem, todo, todoHint } from "./todo.js";
export { createFetchTool, type FetchToolOptions } from "./web/fetch-url.js";
