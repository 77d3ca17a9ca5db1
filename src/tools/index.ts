/**
 * `pawl/tools`: tools for files, commands and the web, `defineTool` for your own, and texts of files for the context.
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
export { type AgentsFileOptions, agentsFile } from "./agents-file.js";
export { askPerson } from "./ask-person.js";
export {
  type BackgroundCommand,
  type BackgroundOptions,
  type BackgroundProcess,
  type BackgroundProcesses,
  createBackgroundProcesses,
  type EarlierProcess,
} from "./background.js";
export { defineTool, type InputOf } from "./define.js";
export { createFetchTool, type FetchToolOptions } from "./fetch-url.js";
export { createFileTools, type FileToolsOptions } from "./file-tools.js";
export { type FindFilesOptions, findFiles } from "./find-files.js";
export type { ProcessFate } from "./process-identity.js";
export { detectSandbox, type Sandbox } from "./sandbox.js";
export { createShellTool, type ShellToolOptions } from "./shell.js";
export { type SkillFolder, type SkillsOptions, skills } from "./skills.js";
export { type TodoItem, todo, todoHint } from "./todo.js";
