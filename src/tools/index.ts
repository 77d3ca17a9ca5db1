/**
 * `pawl/tools`: tools for files, commands and the web, and `defineTool` for your own.
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
export { defineTool, type InputOf } from "./define.js";
export { createFetchTool, type FetchToolOptions } from "./fetch-url.js";
export { createFileTools, type FileToolsOptions } from "./file-tools.js";
export { detectSandbox, type Sandbox } from "./sandbox.js";
export { createShellTool, type ShellToolOptions } from "./shell.js";
